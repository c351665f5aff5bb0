// The tools over the map: grouping, colour, legend, zoom buttons.
import { colourModes } from './colouring.js';
import { byId, el, replaceChildren, setOptions } from './dom.js';
import { count, labelName } from './format.js';
import { fitMap, map, recolour, setGroups, setMode, zoomAt } from './map.js';
import { setQuery } from './router.js';
import { store, subscribe } from './store.js';

const FIRST_LABELS = ['topology.kubernetes.io/zone', 'failure-domain.beta.kubernetes.io/zone', 'zone'];
const SECOND_LABELS = [
  'karpenter.sh/nodepool', 'eks.amazonaws.com/nodegroup', 'cloud.google.com/gke-nodepool',
  'kubernetes.azure.com/agentpool', 'agentpool', 'pool', 'node-pool', 'nodepool', 'node.kubernetes.io/pool',
  'node.kubernetes.io/instance-type',
];
let chosen = { first: null, second: null };

export function startMapTools() {
  byId('group-first').addEventListener('change', (event) => choose({ first: event.target.value }));
  byId('group-second').addEventListener('change', (event) => choose({ second: event.target.value }));
  byId('colour').addEventListener('change', (event) => {
    setMode(event.target.value);
    setQuery({ colour: event.target.value === 'fullest' ? '' : event.target.value });
  });
  byId('zoom-out').addEventListener('click', () => zoomAt(map.width / 2, map.height / 2, 1 / 1.5));
  byId('zoom-in').addEventListener('click', () => zoomAt(map.width / 2, map.height / 2, 1.5));
  byId('zoom-fit').addEventListener('click', fitMap);
  subscribe('nodes', (change) => { if (change.all) refresh(); });
  subscribe('pod', refreshModes);
  subscribe('overlay', refreshModes);
  subscribe('mode', refreshModes);
  subscribe('colouring', legend);
  if (store.nodes) refresh();
}

function choose(change) {
  chosen = { ...chosen, ...change };
  setGroups(chosen.first, chosen.second);
  setQuery({ by: chosen.first, then: chosen.second });
}

/** Sets grouping and colour from the address. */
export function takeMapQuery(query) {
  if (!store.nodes) return;
  const first = query.get('by');
  const second = query.get('then');
  const next = { first: first ?? chosen.first, second: second ?? chosen.second };
  if (next.first !== chosen.first || next.second !== chosen.second) {
    chosen = next;
    refresh();
  }
  const colour = query.get('colour');
  if (colour && colour !== map.mode && colourModes().some(([mode]) => mode === colour)) setMode(colour);
}

function refresh() {
  const labels = Object.keys(store.nodes.labels);
  const known = (key) => key === '' || labels.includes(key);
  if (chosen.first === null || !known(chosen.first)) chosen.first = FIRST_LABELS.find(known) ?? '';
  if (chosen.second === null || !known(chosen.second)) {
    chosen.second = SECOND_LABELS.find((key) => known(key) && key !== chosen.first) ?? '';
  }
  const options = [['', 'nothing'], ...labels.map((key) => [key, labelName(key)])];
  setOptions(byId('group-first'), distinct(options), chosen.first);
  setOptions(byId('group-second'), distinct(options), chosen.second);
  if (map.groups[0] !== chosen.first || map.groups[1] !== chosen.second) setGroups(chosen.first, chosen.second);
  refreshModes();
  legend();
}

/** Keys whose short names are equal are shown in whole. */
function distinct(options) {
  const names = options.map(([, name]) => name);
  return options.map(([key, name]) => [key, names.filter((other) => other === name).length > 1 ? key : name]);
}

function refreshModes() {
  if (!store.nodes) return;
  const modes = colourModes();
  if (!modes.some(([mode]) => mode === map.mode)) {
    map.mode = 'fullest';
    recolour();
  }
  setOptions(byId('colour'), modes, map.mode);
}

function legend() {
  if (!map.colouring) return;
  const { legend: shown } = map.colouring;
  byId('legend').classList.toggle('items', !shown.ramp);
  replaceChildren(byId('legend'), shown.ramp ? rampLegend(shown) : itemLegend(shown),
    map.side > 1 && el('span', { class: 'key' }, `a cell is ${map.side * map.side} nodes`));
}

function rampLegend(shown) {
  return [
    rampScale(shown), flagLegend(),
  ];
}

/** "empty ▁▃▅█ full". */
export function rampScale({ low, ramp, high }) {
  return [el('span', {}, low), el('span', { class: 'ramp', style: { background: `linear-gradient(90deg, ${ramp.join(', ')})` } }), el('span', {}, high)];
}

function flagLegend() {
  return [
    el('span', { class: 'key wide' }, el('i', { class: 'swatch cordoned' }), 'cordoned'),
    el('span', { class: 'key wide' }, el('i', { class: 'swatch alarm' }, '×'), 'not ready'),
  ];
}

function itemLegend(shown) {
  return shown.items.map((item, i) => el('span', { class: i > 2 ? 'key wide' : 'key' },
    el('i', { class: 'swatch', style: { background: item.colour } }),
    item.nodes === undefined ? item.text : `${item.text} ${count(item.nodes)}`));
}
