// Sliders for the weights of scoring plugins: totals are computed here from normalised scores, at every move.
import { el, replaceChildren } from './dom.js';
import { count, plural } from './format.js';
import { recolour } from './map.js';
import { folded } from './pod_parts.js';
import { followPod } from './pod_store.js';
import { route } from './router.js';
import { publish, store } from './store.js';

const MAX_WEIGHT = 20;

/** Totals by position in `points.slot`, for weights by plugin. */
export function totalsWith(points, weights) {
  const totals = new Float64Array(points.slot.length);
  for (const { plugin, weight, normalized } of points.plugins) {
    const factor = weights[plugin] ?? weight;
    for (let i = 0; i < totals.length; i += 1) totals[i] += factor * normalized[i];
  }
  return totals;
}

/** The positions with the most points, in the order of names. */
export function winnersOf(totals) {
  let best = -Infinity;
  let winners = [];
  totals.forEach((total, i) => {
    if (total > best) {
      best = total;
      winners = [i];
    } else if (total === best) winners.push(i);
  });
  return winners;
}

export function weightSliders(key, explanation) {
  const body = el('div', { class: 'sliders' }, el('p', { class: 'quiet' }, 'Loading the points of all nodes…'));
  const draw = () => {
    if (store.pod?.key === key && store.pod.points && !body.dataset.drawn) {
      body.dataset.drawn = '1';
      drawSliders(body, explanation);
    }
  };
  followPod(body, draw);
  queueMicrotask(draw);
  return folded('Change weights…', body);
}

function drawSliders(body, explanation) {
  const { points } = store.pod;
  const weights = {};
  const result = el('p', { class: 'said', 'aria-live': 'polite' });
  const configured = [...points.total];
  const update = () => {
    const totals = totalsWith(points, weights);
    points.total = [...totals];
    sortForMap(points);
    recolour();
    ringWinner(points);
    replaceChildren(result, winnerWords(points, totals, explanation));
  };
  const rows = points.plugins.map((plugin) => slider(plugin, (value) => {
    weights[plugin.plugin] = value;
    update();
  }));
  const reset = () => {
    for (const name of Object.keys(weights)) delete weights[name];
    rows.forEach((row, i) => row.reset(points.plugins[i].weight));
    points.total = configured;
    update();
  };
  replaceChildren(body, rows.map((row) => row.element), result,
    el('button', { type: 'button', class: 'button', onclick: reset }, 'Configured weights'));
  replaceChildren(result, winnerWords(points, totalsWith(points, weights), explanation));
}

/** The map's colours take the largest and smallest total from the ends of the list. */
function sortForMap(points) {
  const order = points.slot.map((_, i) => i).sort((a, b) => points.total[b] - points.total[a]);
  const pick = (list) => order.map((i) => list[i]);
  points.slot = pick(points.slot);
  points.total = pick(points.total);
  for (const plugin of points.plugins) plugin.normalized = pick(plugin.normalized);
}

function ringWinner(points) {
  const [best] = winnersOf(points.total);
  store.rings = best === undefined ? [] : [{ slot: points.slot[best], kind: 'winner' }];
  publish('rings');
}

function slider(plugin, changed) {
  const value = el('output', {}, String(plugin.weight));
  const top = Math.max(MAX_WEIGHT, plugin.weight * 2);
  const input = el('input', {
    type: 'range', min: 0, max: top, step: 1, value: plugin.weight, 'aria-label': `Weight of ${plugin.plugin}`,
    oninput: () => {
      value.textContent = input.value;
      changed(Number(input.value));
    },
  });
  const reset = (weight) => {
    input.value = weight;
    value.textContent = String(weight);
  };
  return { element: el('div', { class: 'slider' }, el('span', {}, plugin.plugin), input, value), reset };
}

function winnerWords(points, totals, explanation) {
  const winners = winnersOf(points.total);
  const names = winners.map((i) => store.nodes.names[points.slot[i]]);
  const best = points.total[winners[0]];
  const before = explanation.winner || explanation.node;
  if (!names.length) return 'No node has points.';
  if (names.length > 1) {
    const kept = names.includes(before) ? `${before} is among them` : `${names[0]} is one of them`;
    return `${plural(names.length, 'node')} have ${count(best)} points; chance chooses, ${kept}.`;
  }
  const next = [...totals].sort((a, b) => b - a)[1] ?? 0;
  const link = el('a', { href: route('node', [names[0]]) }, names[0]);
  return [link, names[0] === before ? ` still wins with ${count(best)} points, ` : ` would win with ${count(best)} points, `, `${count(best - next)} ahead.`];
}

