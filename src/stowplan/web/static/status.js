// States of the page around the views: connection, missing rights, an empty cluster, the source's name, figures.
import { byId, el, replaceChildren } from './dom.js';
import { count, duration, fullTime, percent, resourceName, timeOfDay, trimmed } from './format.js';
import { store, subscribe, sums, liveSlots } from './store.js';

const KINDS = {
  simulation: 'Simulation', recording: 'Recording', snapshot: 'Snapshot', cluster: 'Cluster', scheduler: 'Scheduler', report: 'Report',
};
const RIGHTS = `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: stowplan-web-viewer
rules:
- nonResourceURLs: [/insight/v1/*, /ui/, /ui/*]
  verbs: [get]
- apiGroups: [""]
  resources: [pods]
  verbs: [list]
`;

export function startStatus() {
  subscribe('connection', drawConnection);
  subscribe('hello', drawSource);
  subscribe('pending', drawBadge);
  for (const part of ['nodes', 'queue', 'history', 'pending']) subscribe(part, scheduleFigures);
  subscribe('nodes', drawEmpty);
  drawSource();
  drawConnection();
}

function drawSource() {
  const { hello } = store;
  if (!hello) return;
  const detail = hello.leader ? `leader is ${hello.leader}` : hello.source;
  replaceChildren(byId('source'),
    el('i', { class: 'dot', id: 'dot', 'aria-hidden': 'true' }),
    el('strong', {}, KINDS[hello.kind] || hello.kind), el('span', { title: hello.source }, detail));
  document.title = document.title.includes('·') ? document.title : `${hello.source} · Stowplan`;
}

function drawBadge() {
  const badge = byId('pending-count');
  badge.hidden = !store.pending?.pods;
  badge.textContent = count(store.pending?.pods || 0);
}

function drawConnection() {
  const { state, since, error, before } = store.connection;
  const notice = byId('notice');
  document.documentElement.dataset.connection = state;
  const texts = {
    lost: () => `No news since ${timeOfDay(new Date(since))}, trying again. What is shown stays usable.`,
    polling: () => (before === 'lost' ? 'Connected again; this page asks every 5 s, because the server offers no stream.' : ''),
    live: () => (before === 'lost' ? `Connected again at ${timeOfDay(new Date())}.` : ''),
    refused: () => null,
  };
  if (state === 'refused') {
    showRefused(notice, error);
    return;
  }
  const text = texts[state]?.() || '';
  notice.className = state;
  notice.hidden = !text;
  notice.textContent = text;
  if (since) notice.title = fullTime(new Date(since));
  if (text && state !== 'lost') setTimeout(() => { if (store.connection.state === state) notice.hidden = true; }, 6000);
}

/** Missing rights: the sentence of the server, and the role that would grant them. */
export function showRefused(place, error) {
  place.hidden = false;
  place.className = 'refused';
  const signedOut = error?.status === 401;
  replaceChildren(place,
    el('strong', {}, signedOut ? 'Open the address that stowplan web printed: it holds the key to this page.' : 'You may not see this.'),
    ' ', error?.message || '',
    !signedOut && el('details', {}, el('summary', {}, 'The right that is missing, as RBAC YAML'), el('pre', { tabindex: 0 }, RIGHTS)));
}

function drawEmpty() {
  const text = byId('map-empty');
  const empty = store.nodes && liveSlots().length === 0;
  text.hidden = !empty;
  text.textContent = empty ? 'No nodes yet. Nodes appear here as soon as the source has some.' : '';
}

let scheduled = 0;

function scheduleFigures() {
  if (!scheduled) scheduled = setTimeout(drawFigures, 120);
}

function drawFigures() {
  scheduled = 0;
  if (!store.nodes) return;
  replaceChildren(byId('figures'), figures().map(([name, value, unit]) => el('div', {},
    el('dt', {}, name), el('dd', {}, value, unit && el('small', {}, ` ${unit}`)))));
}

/** Eight figures: nodes, pods, rate, wait, use of resources, evictions. */
function figures() {
  const { nodes, queue, hello, history } = store;
  const slots = liveSlots();
  const pods = queue?.pods ?? Math.round(sums('pods', slots)[0]) ?? hello.pods;
  const shown = [['Nodes', count(slots.length)], ['Pods', count(pods)]];
  if (queue && hello.unit !== 'attempts') shown.push(['Pods/s', queue.bound < 10 ? trimmed(queue.bound, 1) : count(queue.bound)]);
  const wait = history?.waits?.p99?.findLast?.((value) => value > 0);
  if (wait !== undefined) shown.push(['Wait p99', ...duration(wait).split(' ')]);
  for (const resource of nodes.resources) {
    if (resource === 'pods' || (!resource.includes('/') && resource !== 'cpu' && resource !== 'memory')) continue;
    const [used, whole] = sums(resource, slots);
    if (whole > 0) shown.push([titleOf(resource), String(percent(used, whole)), '%']);
  }
  if (history?.evicted?.length) shown.push(['Evicted', count(evictions(history))]);
  if (shown.length < 8) shown.push(['Pending', count(store.pending?.pods ?? hello.pending ?? 0)]);
  return shown.slice(0, 8);
}

function evictions({ time, evicted }) {
  return evicted.reduce((sum, rate, i) => sum + rate * (i ? time[i] - time[i - 1] : 0), 0);
}

function titleOf(resource) {
  const name = resourceName(resource);
  if (name === 'cpu') return 'CPU';
  return name === 'gpu' ? 'GPUs' : name[0].toUpperCase() + name.slice(1);
}
