// Search for nodes, pods and workloads; the map dims all other nodes while typing.
import { byId, el, replaceChildren } from './dom.js';
import { labelName, plural } from './format.js';
import { showCell } from './map.js';
import { podRoute } from './panel.js';
import { loadPodNames } from './pods.js';
import { go, route } from './router.js';
import { liveSlots, publish, store } from './store.js';

const MAX_FOUND_PER_KIND = 6;
let found = [];
let chosen = -1;
let turn = 0;

export function startSearch() {
  const input = byId('search');
  input.addEventListener('input', () => look(input.value.trim()));
  input.addEventListener('focus', () => look(input.value.trim()));
  input.addEventListener('keydown', keys);
  input.addEventListener('blur', () => setTimeout(() => { if (document.activeElement !== input) close(false); }, 150));
}

export function focusSearch() {
  byId('search').focus();
  byId('search').select();
}

async function look(text) {
  turn += 1;
  const mine = turn;
  if (!text || !store.nodes) {
    close(true);
    return;
  }
  const words = text.toLowerCase();
  show(matching(words, []), text);
  try {
    const names = await loadPodNames();
    if (mine === turn) show(matching(words, names), text);
  } catch {
    if (mine === turn) show(matching(words, []), text);
  }
}

function matching(words, podNames) {
  const slots = liveSlots().filter((slot) => store.nodes.names[slot].toLowerCase().includes(words));
  const results = slots.slice(0, MAX_FOUND_PER_KIND).map((slot) => (
    { kind: 'node', text: store.nodes.names[slot], address: route('node', [store.nodes.names[slot]]), slot }
  ));
  const lit = new Set(slots);
  results.push(...foundWorkloads(words, lit), ...foundPods(words, podNames, lit));
  return { results, lit, nodes: slots.length };
}

function foundWorkloads(words, lit) {
  const known = new Set();
  for (const group of store.pending?.groups || []) for (const name of Object.keys(group.workloads || {})) known.add(name);
  for (const name of store.pods?.workloads || []) known.add(name);
  const names = [...known].filter((name) => name.split('/').length === 3 && name.split('/')[2] && name.toLowerCase().includes(words));
  if (store.pods && names.length) {
    const wanted = new Set(names.map((name) => store.pods.workloads.indexOf(name)));
    store.pods.workload.forEach((workload, pod) => { if (wanted.has(workload) && store.pods.node[pod] >= 0) lit.add(store.pods.node[pod]); });
  }
  return names.slice(0, MAX_FOUND_PER_KIND).map((name) => ({ kind: 'workload', text: name, address: route('workload', name.split('/')) }));
}

function foundPods(words, podNames, lit) {
  const results = [];
  for (const group of store.pending?.groups || []) {
    for (const pod of group.sample || []) {
      if (pod.toLowerCase().includes(words) && results.length < MAX_FOUND_PER_KIND) results.push({ kind: 'pending pod', text: pod, address: podRoute(pod) });
    }
  }
  let shown = 0;
  podNames.forEach((name, pod) => {
    if (store.pods.node[pod] < 0 || !name.toLowerCase().includes(words)) return;
    lit.add(store.pods.node[pod]);
    if (shown < MAX_FOUND_PER_KIND) {
      shown += 1;
      results.push({ kind: 'pod', text: name, address: podRoute(name), slot: store.pods.node[pod] });
    }
  });
  return results;
}

function show({ results, lit }, text) {
  found = results;
  chosen = results.length ? 0 : -1;
  store.focus = lit.size ? lit : null;
  publish('focus');
  const list = byId('found');
  list.hidden = false;
  byId('search').setAttribute('aria-expanded', 'true');
  replaceChildren(list, results.length ? results.map(option) : el('li', { class: 'nothing', role: 'option', 'aria-selected': 'false' },
    `Nothing is named like ${text}.`), results.length > 0 && el('li', { class: 'nothing', role: 'presentation' }, `${plural(lit.size, 'node')} lit on the map`));
  mark();
}

function option(result, index) {
  return el('li', {
    role: 'option', id: `found-${index}`, 'aria-selected': 'false',
    onpointerdown: (event) => { event.preventDefault(); open(index); },
  }, el('span', { class: 'kind' }, labelName(result.kind)), el('span', { class: 'name' }, result.text));
}

function mark() {
  const input = byId('search');
  if (chosen < 0) input.removeAttribute('aria-activedescendant');
  else input.setAttribute('aria-activedescendant', `found-${chosen}`);
  found.forEach((_, i) => byId(`found-${i}`)?.setAttribute('aria-selected', String(i === chosen)));
  byId(`found-${chosen}`)?.scrollIntoView({ block: 'nearest' });
}

function keys(event) {
  if (event.key === 'ArrowDown' && found.length) chosen = (chosen + 1) % found.length;
  else if (event.key === 'ArrowUp' && found.length) chosen = (chosen + found.length - 1) % found.length;
  else if (event.key === 'Enter' && chosen >= 0) open(chosen);
  else if (event.key === 'Escape') {
    byId('search').value = '';
    close(true);
    byId('map').focus();
  } else return;
  event.preventDefault();
  event.stopPropagation();
  mark();
}

function open(index) {
  const result = found[index];
  if (!result) return;
  byId('search').value = '';
  close(true);
  byId('search').blur();
  go(result.address);
  if (result.slot !== undefined) showCell(result.slot);
}

function close(unlit) {
  turn += 1; // An answer that is under way must not open the list again.
  byId('found').hidden = true;
  byId('search').setAttribute('aria-expanded', 'false');
  byId('search').removeAttribute('aria-activedescendant');
  if (!unlit && !byId('search').value) return;
  if (store.focus && (unlit || document.activeElement !== byId('search'))) {
    store.focus = null;
    publish('focus');
  }
}
