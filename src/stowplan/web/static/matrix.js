// Nodes × plugins: for a pending pod what each filter answers about each node, for a placed pod the scores as bars.
import { categoryColour, familyColour, familyOf } from './colours.js';
import { el, replaceChildren, saveFile, select } from './dom.js';
import { lackShares } from './colouring.js';
import { amount, count, naturalOrder, plural, resourceName, shortPlugin } from './format.js';
import { apiPath, getJson } from './net.js';
import { folded } from './pod_parts.js';
import { whyNot } from './pod_pending.js';
import { loadFit, loadPoints } from './pod_store.js';
import { route } from './router.js';
import { labelOf, liveSlots, publish, store } from './store.js';
import { isDark } from './theme.js';
import { virtualList } from './virtual.js';

const ROW_PIXELS = 30;
const ZONE = 'topology.kubernetes.io/zone';

export const matrixView = {
  name: 'matrix',
  layout: 'page',
  title: (here) => `Nodes × plugins of ${here.segments.join('/')}`,
  async open(here, signal) {
    const key = here.segments.join('/');
    replaceChildren(here.place, el('p', { class: 'section quiet' }, 'Loading…'));
    try {
      const explanation = await getJson(`explain/${apiPath(...here.segments)}`);
      if (signal.aborted) return;
      if (store.pod?.key !== key) store.pod = { key, fit: null, points: null };
      store.pod.explanation = explanation;
      const table = explanation.node ? scoreTable(await loadPoints(key, signal)) : filterTable(await loadFit(key, signal));
      if (signal.aborted) return;
      draw(here, key, table);
      publish('pod');
    } catch (error) {
      if (!signal.aborted) replaceChildren(here.place, el('p', { class: 'section' }, error.message));
    }
  },
};

/** Filters: columns in the order of the funnel, then plugins that reject nodes only after it. */
function filterTable(fit) {
  const plugins = [...new Set([...fit.steps.map((step) => step.plugin), ...fit.plugins])].filter((plugin) => fit.plugins.includes(plugin));
  const bits = plugins.map((plugin) => 2 ** fit.plugins.indexOf(plugin));
  const near = new Set(fit.near);
  const rejectedBy = (slot, i) => Math.floor((fit.rejects[slot] || 0) / bits[i]) % 2 === 1;
  const plugin = (slot) => bits.filter((_, i) => rejectedBy(slot, i)).length;
  const shares = lackShares(fit);
  const distance = (slot) => plugin(slot) - (near.has(slot) ? 0.5 : 0) + 0.4 * Math.min(1, shares.get(slot) || 0);
  const lacks = lacksOf(fit);
  return {
    plugins, kind: 'filters', slots: liveSlots(), distance,
    first: (slot) => (plugin(slot) === 0 ? 'fits' : near.has(slot) ? 'near miss' : plural(plugin(slot), 'plugin')),
    cell: (slot, i) => filterCell(plugins[i], rejectedBy(slot, i), near.has(slot)),
    text: (slot, i) => (rejectedBy(slot, i) ? 'rejects' : ''),
    last: (slot) => (lacks.get(slot) ? `lacks ${lacks.get(slot)}` : ''),
  };
}

function lacksOf(fit) {
  const texts = new Map();
  for (const [resource, column] of Object.entries(fit.lacks)) {
    column.slot.forEach((slot, i) => {
      const text = `${amount(resource, column.amount[i])} ${resourceName(resource)}`;
      texts.set(slot, texts.has(slot) ? `${texts.get(slot)}, ${text}` : text);
    });
  }
  return texts;
}

function filterCell(plugin, rejects, near) {
  if (!rejects) return el('span', { class: 'matrix-ok', 'aria-hidden': 'true' }, '·');
  const colour = familyColour(near ? 'near' : familyOf(plugin), isDark());
  return el('span', { class: 'matrix-no', title: `${plugin} rejects the node`, style: { background: colour } }, '×', el('span', { class: 'unseen' }, ` ${plugin} `));
}

function scoreTable(points) {
  const place = new Map(points.slot.map((slot, i) => [slot, i]));
  const plugins = points.plugins.map((plugin) => plugin.plugin);
  return {
    plugins, kind: 'scores', slots: points.slot, distance: (slot) => place.get(slot),
    first: (slot) => count(points.total[place.get(slot)]),
    cell: (slot, i) => {
      const value = points.plugins[i].normalized[place.get(slot)];
      return el('span', { class: 'matrix-bar', title: `${plugins[i]}: ${value} × ${points.plugins[i].weight}` },
        el('i', { style: { width: `calc((100% - 32px) * ${value / 100})`, background: categoryColour(i) } }), el('small', {}, String(value)));
    },
    text: (slot, i) => String(points.plugins[i].normalized[place.get(slot)]),
    last: (slot) => (slot === points.node ? 'its node' : ''),
  };
}

function draw(here, key, table) {
  const state = { sort: 'distance', filter: '', rows: [] };
  const columns = `minmax(180px, 340px) 86px repeat(${table.plugins.length}, minmax(34px, ${table.kind === 'scores' ? 150 : 96}px)) minmax(110px, 1fr)`;
  const answer = el('div', { class: 'why-not', 'aria-live': 'polite' });
  const list = virtualList({
    id: 'matrix', label: `Nodes × plugins of ${key}`, rowHeight: ROW_PIXELS, empty: 'No node matches the filter.',
    make: (index) => matrixRow(table, state.rows[index], columns), open: (index) => explainNode(here, state.rows[index], answer),
  });
  const update = () => {
    state.rows = sorted(table, state);
    shown.textContent = `${count(state.rows.length)} of ${plural(table.slots.length, 'node')}`;
    list.update(state.rows.length);
  };
  const shown = el('span', { class: 'quiet' });
  replaceChildren(here.place,
    el('div', { class: 'page-head' },
      el('a', { class: 'back', href: route('pod', here.segments) }, `‹ ${key}`), el('h1', {}, 'Nodes × plugins'),
      el('div', { class: 'controls' },
        el('label', {}, 'Sort ', select('Sort', [['distance', table.kind === 'scores' ? 'points' : 'distance'], ['name', 'name'], ['zone', 'zone']],
          'distance', (value) => { state.sort = value; update(); })),
        el('label', {}, 'Filter ', el('input', { type: 'text', oninput: (event) => { state.filter = event.target.value.toLowerCase(); update(); } })),
        shown,
        el('button', { type: 'button', class: 'button', onclick: () => exportCsv(key, table, state.rows) }, 'CSV'),
        el('button', { type: 'button', class: 'button', onclick: () => exportJson(key, table, state.rows) }, 'JSON'))),
    el('div', { class: 'matrix' },
      el('div', { class: 'matrix-head', 'aria-hidden': 'true', style: { 'grid-template-columns': columns } },
        el('span', {}, 'node'), el('span', {}, table.kind === 'scores' ? 'points' : 'distance'),
        table.plugins.map((plugin) => el('span', { title: plugin, class: 'slanted' }, el('b', {}, shortPlugin(plugin)))), el('span', {}, '')),
      list.element),
    answer, folded('How to read it', el('p', {}, table.kind === 'scores'
      ? 'A bar is the normalised score of a plugin, 0 to 100; points are their sum, each times its weight. Enter explains a node.'
      : 'A coloured mark: the plugin rejects the node. A dot: it does not. The distance counts the plugins that reject the node. Enter explains a node.')));
  update();
}

function sorted(table, state) {
  const { names } = store.nodes;
  const rows = table.slots.filter((slot) => !state.filter
    || names[slot].toLowerCase().includes(state.filter) || labelOf(ZONE, slot).toLowerCase().includes(state.filter));
  const byName = (a, b) => naturalOrder(names[a], names[b]);
  if (state.sort === 'name') return rows.sort(byName);
  if (state.sort === 'zone') return rows.sort((a, b) => naturalOrder(labelOf(ZONE, a), labelOf(ZONE, b)) || byName(a, b));
  return rows.sort((a, b) => table.distance(a) - table.distance(b) || byName(a, b));
}

function matrixRow(table, slot, columns) {
  return el('div', { class: 'matrix-row', style: { 'grid-template-columns': columns } },
    el('span', { class: 'mono' }, store.nodes.names[slot]), el('span', {}, table.first(slot)),
    table.plugins.map((_, i) => table.cell(slot, i)), el('span', { class: 'quiet' }, table.last(slot)));
}

async function explainNode(here, slot, answer) {
  replaceChildren(answer, el('p', { class: 'section quiet' }, 'Computing…'));
  try {
    const found = await getJson(`why-not/${apiPath(...here.segments, store.nodes.names[slot])}`);
    replaceChildren(answer, el('div', { class: 'section' }, el('h2', {}, store.nodes.names[slot]), whyNot(found)));
  } catch (error) {
    replaceChildren(answer, el('p', { class: 'section' }, error.message));
  }
}

function exportCsv(key, table, rows) {
  const quoted = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const safe = (text) => quoted(/^[=+\-@]/.test(text) ? `'${text}` : text);
  const lines = [['node', 'distance', ...table.plugins, 'note']].concat(rows.map((slot) => [
    store.nodes.names[slot], table.first(slot), ...table.plugins.map((_, i) => table.text(slot, i)), table.last(slot)]));
  saveFile(`${key.replace('/', '-')}.csv`, 'text/csv', `${lines.map((line) => line.map(safe).join(',')).join('\n')}\n`);
}

function exportJson(key, table, rows) {
  const entries = rows.map((slot) => ({
    node: store.nodes.names[slot], [table.kind === 'scores' ? 'points' : 'distance']: table.first(slot),
    plugins: Object.fromEntries(table.plugins.map((plugin, i) => [plugin, table.text(slot, i)])),
  }));
  saveFile(`${key.replace('/', '-')}.json`, 'application/json', JSON.stringify(entries, null, 1));
}
