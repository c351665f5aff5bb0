// The comparison of two runs: both maps with one camera, or their difference; figures; pods that differ.
import { makeChart } from './charts.js';
import { paintRun, runCamera } from './compare_map.js';
import { diverging, ramp, themeTokens } from './colours.js';
import { el, replaceChildren, select } from './dom.js';
import { rampScale } from './map_tools.js';
import { getJson } from './net.js';
import { section } from './pod_parts.js';
import { go, route } from './router.js';
import { differenceTable, figuresTable, movedPods } from './run_tables.js';
import { store, subscribe } from './store.js';

export const compareView = {
  name: 'compare',
  layout: 'page',
  title: () => 'Compare',
  open(here, signal) {
    replaceChildren(here.place, el('div', { class: 'page-head' }, el('h1', {}, 'Compare')));
    show(here, signal).catch((error) => {
      if (!signal.aborted) here.place.append(el('p', { class: 'section' }, error.message));
    });
  },
};

async function show(here, signal) {
  const runs = store.hello.features.includes('compare') ? await getJson('compare') : [];
  if (signal.aborted) return;
  if (!runs.length) {
    here.place.append(el('p', { class: 'section' }, 'There is nothing to compare yet. ', store.hello.features.includes('what-if') && el('a', { href: '#/what-if' }, 'Ask what would happen with some changes.')));
    return;
  }
  const wanted = runs.find((run) => run.id === here.segments[0]) || runs.at(-1);
  const id = encodeURIComponent(wanted.id);
  const [run, maps] = await Promise.all([getJson(`run/${id}`), getJson(`run/${id}/maps`)]);
  if (signal.aborted) return;
  replaceChildren(here.place,
    el('div', { class: 'page-head' }, el('h1', {}, 'Compare'), runs.length > 1 && select('Run', runs.map((each) => [each.id, each.sentence.slice(0, 90)]), wanted.id, (value) => go(route('compare', [value])))),
    el('div', { class: 'section' }, el('div', { class: 'sentence' }, run.sentence), run.command && el('pre', { class: 'command', tabindex: 0 }, run.command)),
    mapPair(run, maps, signal), bothTimelines(run, maps, signal), figuresTable(run, maps.histories), differenceTable(run.answer.workloads), movedPods(run.answer));
}

/** Pending pods over time of both runs, in one chart. */
function bothTimelines(run, { histories, unit }, signal) {
  if (!histories) return null;
  const box = el('div', { class: 'chart-box' });
  const names = [[run.before, 'unschedulable'], [run.after, 'active']];
  requestAnimationFrame(() => {
    if (signal.aborted) return;
    const chart = makeChart(box, { series: names.map(([label, colour]) => ({ label, colour })), height: 170, unit });
    const time = [...new Set(histories.flatMap((history) => history.time))].sort((a, b) => a - b);
    chart.update(time, histories.map((history) => valuesAt(time, history.time, pendingPods(history))));
    signal.addEventListener('abort', () => chart.destroy());
  });
  return section('Pending pods over time', unit === 'attempts' ? 'by scheduling attempts' : '', el('p', { class: 'chart' }, names.map(([label, colour]) => el('span', { class: 'key' }, el('i', { class: `swatch line-${colour}` }), label))), box);
}

function pendingPods({ time, queues }) {
  return time.map((_, i) => Object.values(queues).reduce((sum, list) => sum + list[i], 0));
}

/** Values of the latest sample at each time; after the last sample the last value. */
function valuesAt(wanted, times, values) {
  let at = -1;
  return wanted.map((time) => {
    while (at + 1 < times.length && times[at + 1] <= time) at += 1;
    return at < 0 ? null : values[at];
  });
}

/** Two canvases, or one of the difference. */
function mapPair(run, maps, signal) {
  if (!maps.before || !maps.after) return el('p', { class: 'section quiet' }, 'A recorded run without nodes has no map.');
  const place = el('div', { class: 'run-maps' });
  const scale = el('span', { class: 'legend' });
  const camera = runCamera();
  const canvases = [];
  const draw = (which) => {
    const shown = which === 'difference' ? [['difference', `From ${run.before} to ${run.after}`]] : [['before', run.before], ['after', run.after]];
    canvases.length = 0;
    replaceChildren(place, shown.map(([kind, text]) => {
      const canvas = el('canvas', { role: 'img', 'aria-label': `Map: ${text}`, data: { kind } });
      canvases.push([canvas, kind]);
      return el('figure', {}, el('figcaption', {}, text), canvas);
    }));
    requestAnimationFrame(paint);
  };
  const paint = () => {
    const { dark } = themeTokens();
    const isDifference = canvases[0]?.[1] === 'difference';
    replaceChildren(scale, rampScale(isDifference ? { low: 'emptier', ramp: diverging(dark), high: 'fuller' } : { low: 'empty', ramp: ramp(dark), high: 'full' }));
    for (const [canvas, kind] of canvases) paintRun(canvas, maps, kind, camera);
  };
  camera.attach(place, paint);
  const resize = new ResizeObserver(paint);
  resize.observe(place);
  const end = subscribe('theme', paint);
  signal.addEventListener('abort', () => {
    resize.disconnect();
    end();
  });
  draw('both');
  const choices = [['both', 'side by side'], ['difference', 'difference']].map(([value, text]) => el('label', {},
    el('input', { type: 'radio', name: 'compare-map', value, checked: value === 'both', onchange: () => draw(value) }), text));
  return el('div', { class: 'section' }, el('fieldset', { class: 'run-map' }, el('legend', { class: 'unseen' }, 'Maps'), choices, scale), place);
}
