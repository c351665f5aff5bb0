// Time series with uPlot: lines and stacked areas in the colours of the theme.
import { themeTokens } from './colours.js';
import { clock, count, trimmed } from './format.js';
import { store } from './store.js';
import { uPlot } from './vendor/uplot.js';

/** The text of a time of the source: a clock since the start, or the time of day of a live source. */
export function timeText(seconds) {
  const { hello } = store;
  if (store.run?.unit === 'attempts') return count(seconds);
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
 * A chart: `{title, unit, height, series: [{label, colour, values, fill}], stack}`. Stacked series are drawn from the
 * last sum to the first, so that each shows its own part. Returns `{element, update(time, lists), destroy()}`.
 */
export function makeChart(place, options) {
  const tokens = themeTokens();
  const axis = { stroke: tokens.quiet, font: `11px ${tokens.font}`, grid: { stroke: tokens.line, width: 1 }, ticks: { show: false } };
  const order = options.stack ? [...options.series].reverse() : options.series;
  const chart = new uPlot({
    width: Math.max(120, place.clientWidth), height: options.height, title: '', legend: { show: false },
    padding: [8, 26, 0, 0],
    cursor: { y: false, drag: { x: false, y: false }, sync: options.sync ? { key: options.sync } : undefined },
    scales: { x: { time: false }, y: { range: (_, low, high) => [Math.min(0, low || 0), Math.max(options.least || 1, (high || 0) * 1.08)] } },
    axes: [
      { ...axis, size: 24, values: (_, splits) => splits.map(timeText), space: 80 },
      { ...axis, size: 46, values: (_, splits) => splits.map((value) => (value >= 10 ? count(value) : trimmed(value, 2))), space: 26 },
    ],
    series: [{}, ...order.map((series) => ({
      label: series.label, stroke: tokens[series.colour] || series.colour, width: options.stack ? 0 : 1.5, points: { show: false },
      fill: options.stack ? tokens[series.colour] || series.colour : series.fill && tokens[series.fill],
    }))],
  }, [[], ...order.map(() => [])], place);
  const resize = new ResizeObserver(() => {
    if (place.clientWidth > 60 && place.clientWidth !== chart.width) chart.setSize({ width: place.clientWidth, height: options.height });
  });
  resize.observe(place);
  return {
    chart,
    update(time, lists) {
      const data = options.stack ? stacked(lists).reverse() : lists;
      chart.setData([time, ...data]);
    },
    destroy() {
      resize.disconnect();
      chart.destroy();
    },
  };
}
