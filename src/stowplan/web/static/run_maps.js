// The map of a run with other nodes or pods: a switch between before, after and the difference on the home map.
import { el } from './dom.js';
import { map, setMode } from './map.js';
import { expandColumn, publish, store, takeMap } from './store.js';

const NO_PODS = { length: 0, node: [], workloads: [], workload: [], priority: [], requests: {}, names: [], byNode: null, rank: new Map() };

/** Radio buttons that change what the map shows, until the view is left. */
export function runMapSwitch(maps, signal) {
  if (!maps.before || !maps.after) return null;
  const own = { nodes: store.nodes, pods: store.pods, mode: map.mode };
  const show = (which) => {
    restore(own);
    if (which === 'after') useMap(maps.after);
    else if (which === 'difference') showDifference(maps);
    else useMap(maps.before);
  };
  signal.addEventListener('abort', () => restore(own));
  const choices = ['before', 'after', 'difference'].map((which) => el('label', {},
    el('input', { type: 'radio', name: 'run-map', value: which, checked: which === 'difference', onchange: () => show(which) }), which));
  show('difference');
  return el('fieldset', { class: 'run-map' }, el('legend', { class: 'unseen' }, 'The map shows'), choices);
}

function useMap(answer) {
  store.pods = { ...NO_PODS };
  takeMap(answer);
  publish('pods');
}

function restore(own) {
  if (store.nodes === own.nodes) return;
  store.overlay = null;
  store.nodes = own.nodes;
  store.pods = own.pods;
  if (map.mode === 'overlay') setMode(own.mode === 'overlay' ? 'fullest' : own.mode);
  publish('nodes', { all: true });
  publish('pods');
}

/** The difference on the nodes of the run that has more of them. */
function showDifference({ before, after }) {
  const shares = [before, after].map(sharesByName);
  useMap(after.nodes.name.filter(Boolean).length >= before.nodes.name.filter(Boolean).length ? after : before);
  const values = Float32Array.from(store.nodes.names, (name) => (shares[1].get(name) ?? 0) - (shares[0].get(name) ?? 0));
  store.overlay = { values, text: 'difference', low: 'emptier', high: 'fuller' };
  setMode('overlay');
}

/** The share of the fullest resource by the name of the node. */
export function sharesByName({ nodes, resources }) {
  const { length } = nodes.name;
  const columns = resources.map((name) => [expandColumn(nodes.requested[name], length), expandColumn(nodes.allocatable[name], length)]);
  const share = (slot) => Math.max(0, ...columns.map(([used, whole]) => (whole[slot] ? Math.min(1, used[slot] / whole[slot]) : 0)));
  return new Map(nodes.name.flatMap((name, slot) => (name ? [[name, share(slot)]] : [])));
}
