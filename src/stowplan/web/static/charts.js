// Time series with uPlot: lines and stacked areas in the colours of the theme.
import { themeTokens } from './colours.js';
import { clock, count, trimmed } from './format.js';
import { store } from './store.js';
import { uPlot } from './vendor/uplot.js';

/** Steps of a time axis, in seconds: up to a day as clocks have them, then days. */
const TIME_STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, ...[1, 2, 7, 14, 28, 56, 112, 364].map((days) => days * 86400)];

/** The text of a time of the source: a clock since the start, or the time of day of a live source. */
export function timeText(seconds, unit = store.hello?.unit) {
  const { hello } = store;
  if (unit === 'attempts') return count(seconds);
  if (hello && hello.kind !== 'simulation' && hello.kind !== 'recording' && hello.kind !== 'report' && !hello.start) {
    return new Date(seconds * 1000).toLocaleTimeString('en-GB');
  }
  return clock(seconds);
}

/** Sums of lists, each added to those before it. */
export function stacked(lists) {
  const sums = [];
  lists.forEach((list, i) => sums.push(i ? list.map((value, at) => value + sums[i - 1][at]) : [...list]));
  return sums;
}

/**
 * A chart: `{height, series: [{label, colour}], stack, lines, unit}`. Stacked series are drawn from the last sum to the first, so
 * that each shows its own part; `lines` are drawn over them, on an axis of their own. Returns `{chart, update(time, lists,
 * lines), destroy()}`.
 */
export function makeChart(place, options) {
  const tokens = themeTokens();
  const axis = { stroke: tokens.quiet, font: `11px ${tokens.font}`, grid: { stroke: tokens.line, width: 1 }, ticks: { show: false } };
  const order = options.stack ? [...options.series].reverse() : options.series;
  const { lines = [], unit = store.hello?.unit } = options;
  const figure = (_, splits) => splits.map((value) => (value >= 10 ? count(value) : trimmed(value, 2)));
  const range = (_, low, high) => [Math.min(0, low || 0), Math.max(options.least || 1, (high || 0) * 1.08)];
  const chart = new uPlot({
    width: Math.max(120, place.clientWidth), height: options.height, title: '', legend: { show: false },
    padding: [8, lines.length ? 0 : 26, 0, 0],
    cursor: { y: false, drag: { x: false, y: false }, sync: options.sync ? { key: options.sync } : undefined },
    scales: { x: { time: false }, y: { range }, ...(lines.length && { rate: { range: (_, low, high) => [0, (high || 1) * 1.08] } }) },
    axes: [
      { ...axis, size: 24, values: (_, splits) => splits.map((at) => timeText(at, unit)), space: 80, ...(unit !== 'attempts' && { incrs: TIME_STEPS }) },
      { ...axis, size: 46, values: figure, space: 26 },
      ...(lines.length ? [{ ...axis, side: 1, scale: 'rate', size: 40, values: figure, space: 36, grid: { show: false } }] : []),
    ],
    series: [{}, ...order.map((series) => ({
      label: series.label, stroke: tokens[series.colour] || series.colour, width: options.stack ? 0 : 1.5, points: { show: false },
      fill: options.stack ? tokens[series.colour] || series.colour : undefined,
    })), ...lines.map((line) => ({ label: line.label, scale: 'rate', stroke: tokens[line.colour], width: 1.5, points: { show: false } }))],
  }, [[], ...order.map(() => []), ...lines.map(() => [])], place);
  const resize = new ResizeObserver(() => {
    if (place.clientWidth > 60 && place.clientWidth !== chart.width) chart.setSize({ width: place.clientWidth, height: options.height });
  });
  resize.observe(place);
  return {
    chart,
    update(time, lists, over = []) {
      const data = options.stack ? stacked(lists).reverse() : lists;
      chart.setData([time, ...data, ...over]);
    },
    destroy() {
      resize.disconnect();
      chart.destroy();
    },
  };
}
