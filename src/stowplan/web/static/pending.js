// The Pending page: groups by sentence over the whole width, each opens to its pods; filters and sorting.
import { byId, el, replaceChildren, select, setOptions } from './dom.js';
import { VERDICTS, count, duration, plural, shortWorkload, verdictClass } from './format.js';
import { addKey } from './keys.js';
import { getJson } from './net.js';
import { podRoute, ageNow, verdictBadge } from './panel.js';
import { go, setQuery } from './router.js';
import { store, subscribe } from './store.js';
import { virtualList } from './virtual.js';

const PAGE_PODS = 100;
const GROUP_ROW_PIXELS = 44;
const sizes = new Map();

const state = { namespace: '', verdict: '', because: '', text: '', sort: 'count', open: '', pages: new Map() };

export const pendingView = {
  name: 'pending',
  layout: 'page',
  title: () => 'Pending',
  open(here, signal) {
    for (const name of ['namespace', 'verdict', 'because', 'text']) state[name] = here.query.get(name) || '';
    state.sort = here.query.get('sort') || 'count';
    state.open = here.segments[0] || '';
    const list = virtualList({
      id: 'pending', label: 'Pending pods by sentence', rowHeight: GROUP_ROW_PIXELS, empty: 'No pending pod matches.',
      make: (index) => row(state.rows[index]), open: (index) => openRow(state.rows[index], refresh),
      visible: (first, last) => loadVisible(first, last, refresh),
    });
    const refresh = () => { if (!signal.aborted) update(list); };
    replaceChildren(here.place, head(refresh), columnHeads(), list.element);
    signal.addEventListener('abort', subscribe('pending', refresh));
    refresh();
  },
};

addKey('f', () => byId('pending-filter')?.focus());

/** The choices of the filters, of the groups that there are now. */
function choices() {
  const groups = store.pending?.groups || [];
  const namespaces = new Set(groups.flatMap((group) => Object.keys(group.workloads || {}).map((name) => name.split('/')[0])));
  const reasons = new Set(groups.map((group) => group.because).filter(Boolean));
  const same = (names) => [...names].sort().map((name) => [name, name]);
  const verdicts = Object.entries(VERDICTS).filter(([name]) => name !== 'fits');
  return { namespace: same(namespaces), verdict: verdicts, because: same(reasons) };
}

function updateChoices() {
  for (const [name, options] of Object.entries(choices())) {
    const list = byId(`pending-${name}`);
    if (list.options.length !== options.length + 1) setOptions(list, [['', 'all'], ...options], state[name]);
  }
}

function head(refresh) {
  const choice = (name, label) => {
    const list = select(label, [['', 'all'], ...choices()[name]], state[name], (value) => set(name, value));
    list.id = `pending-${name}`;
    return el('label', {}, `${label} `, list);
  };
  const set = (name, value) => {
    state[name] = value;
    setQuery({ [name]: value });
    refresh();
  };
  return el('div', { class: 'page-head' },
    el('h1', { id: 'pending-title' }, 'Pending pods'),
    el('div', { class: 'controls' },
      choice('namespace', 'Namespace'), choice('verdict', 'Verdict'), choice('because', 'Reason'),
      el('label', {}, 'Sort ', select('Sort', [['count', 'count'], ['age', 'age'], ['name', 'sentence']], state.sort, (value) => set('sort', value))),
      el('label', {}, 'Filter ', el('input', { id: 'pending-filter', type: 'text', value: state.text, oninput: (event) => set('text', event.target.value) }))));
}

function columnHeads() {
  return el('div', { class: 'pending-row pending-heads', 'aria-hidden': 'true' },
    ['Pods', 'Sentence', 'Verdict', 'Workloads', 'Oldest', ''].map((text) => el('span', {}, text)));
}

function update(list) {
  updateChoices();
  const groups = filtered();
  for (const group of store.pending?.groups || []) remember(group);
  state.rows = groups.flatMap((group) => (group.id === state.open ? [{ group }, ...podRows(group)] : [{ group }]));
  const pods = groups.reduce((sum, group) => sum + group.pods, 0);
  byId('pending-title').textContent = store.pending ? `${plural(pods, 'pending pod')}, ${plural(groups.length, 'reason')}` : 'Pending pods, loading…';
  list.update(state.rows.length, true);
}

function filtered() {
  const text = state.text.toLowerCase();
  const groups = (store.pending?.groups || []).filter((group) => {
    const workloads = Object.keys(group.workloads || {});
    return (!state.namespace || workloads.some((name) => name.startsWith(`${state.namespace}/`)))
      && (!state.verdict || verdictClass(group) === state.verdict) && (!state.because || group.because === state.because)
      && (!text || group.sentence.toLowerCase().includes(text) || workloads.some((name) => name.toLowerCase().includes(text)));
  });
  if (state.sort === 'age') groups.sort((a, b) => (a.since || '9').localeCompare(b.since || '9'));
  else if (state.sort === 'name') groups.sort((a, b) => a.sentence.localeCompare(b.sentence));
  else groups.sort((a, b) => b.pods - a.pods);
  return groups;
}

/** Sizes of a group over time, for its sparkline. */
function remember(group) {
  const list = sizes.get(group.id) || [];
  if (list[list.length - 1] !== group.pods || list.length < 2) list.push(group.pods);
  if (list.length > 40) list.shift();
  sizes.set(group.id, list);
}

function podRows(group) {
  return Array.from({ length: group.pods }, (_, index) => ({ group, index }));
}

function row(entry) {
  return entry.index === undefined ? groupRow(entry.group) : podRow(entry);
}

function groupRow(group) {
  const age = ageNow(group.since);
  const names = Object.keys(group.workloads || {}).map(shortWorkload);
  const open = group.id === state.open;
  return el('div', { class: 'pending-row' },
    el('b', { class: 'number' }, count(group.pods)),
    el('span', { class: 'pending-sentence', title: group.sentence }, el('i', { class: open ? 'caret open' : 'caret', 'aria-hidden': 'true' }, '›'), group.sentence),
    verdictBadge(group),
    el('span', { class: 'quiet cut', title: names.join(', ') }, names.slice(0, 2).join(', ') + (names.length > 2 ? ` +${names.length - 2}` : '')),
    el('span', { class: 'quiet' }, age === null ? '–' : duration(age)), sparkline(sizes.get(group.id)));
}

function sparkline(values = []) {
  if (values.length < 3) return el('span', {});
  const most = Math.max(1, ...values);
  return el('span', { class: 'spark', 'aria-hidden': 'true' }, values.slice(-24).map((value) => el('i', { style: { height: `${(100 * value) / most}%` } })));
}

function podRow({ group, index }) {
  const page = state.pages.get(`${group.id}/${Math.floor(index / PAGE_PODS)}`);
  const pod = page?.rows?.[index % PAGE_PODS];
  if (!pod) return el('div', { class: 'pending-row pod' }, el('span', {}), el('span', { class: 'quiet' }, 'Loading…'));
  const age = ageNow(pod.since);
  return el('div', { class: 'pending-row pod' },
    el('span', {}), el('span', { class: 'mono cut', title: pod.pod }, pod.pod), el('span', { class: 'quiet' }, pod.place),
    el('span', { class: 'quiet cut' }, [shortWorkload(pod.workload), pod.priority ? `priority ${count(pod.priority)}` : ''].filter(Boolean).join(', ')),
    el('span', { class: 'quiet' }, age === null ? '' : duration(age)), el('span', { class: 'quiet' }, pod.attempts ? plural(pod.attempts, 'attempt') : ''));
}

function openRow(entry, refresh) {
  if (entry.index === undefined) {
    state.open = state.open === entry.group.id ? '' : entry.group.id;
    state.pages.clear();
    refresh();
    return;
  }
  const pod = state.pages.get(`${entry.group.id}/${Math.floor(entry.index / PAGE_PODS)}`)?.rows?.[entry.index % PAGE_PODS];
  if (pod) go(podRoute(pod.pod, { group: entry.group.id }));
}

/** Loads the pages of pods that are in view. */
function loadVisible(first, last, refresh) {
  for (const entry of (state.rows || []).slice(first, last + 1)) {
    if (entry.index === undefined) continue;
    const number = Math.floor(entry.index / PAGE_PODS);
    const key = `${entry.group.id}/${number}`;
    if (state.pages.has(key)) continue;
    state.pages.set(key, { rows: null });
    getJson(`pending/${encodeURIComponent(entry.group.id)}?from=${number * PAGE_PODS}&count=${PAGE_PODS}`).then((page) => {
      state.pages.set(key, page);
      refresh();
    }).catch(() => state.pages.delete(key));
  }
}
