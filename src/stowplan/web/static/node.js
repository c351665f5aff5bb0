// The page of a node: use of resources, pods as blocks and as a table, taints, labels, conditions.
import { flagWords } from './card.js';
import { workloadColour } from './colouring.js';
import { rampStep } from './colours.js';
import { el, numberCells, replaceChildren, scrolledTable, select } from './dom.js';
import { amount, amountOf, count, duration, plural, resourceName, shortWorkload } from './format.js';
import { map } from './map.js';
import { apiPath, getJson, isEmbedded } from './net.js';
import { podRoute, ageNow } from './panel.js';
import { loadPods } from './pods.js';
import { factRows, folded, offersWhatIf, section } from './pod_parts.js';
import { route } from './router.js';
import { CORDONED, NOT_READY, publish, store, subscribe } from './store.js';

const MAX_LISTED_PODS = 250;
const MAX_VISITORS = 8;
const state = { resource: 'cpu', sort: 'share', down: true };

export const nodeView = {
  name: 'node',
  layout: 'panel',
  title: (here) => here.segments[0],
  async open(here, signal) {
    const [name] = here.segments;
    const slot = store.nodes.slotOf.get(name);
    store.rings = slot === undefined ? [] : [{ slot, kind: 'selected' }];
    publish('rings');
    replaceChildren(here.place, nodeHead(name), el('p', { class: 'section quiet' }, 'Loading…'));
    const load = async () => {
      try {
        const node = await getJson(`node/${apiPath(name)}`);
        if (!signal.aborted) draw(here.place, node);
        if (!store.pods && (await loadPods()) && !signal.aborted) draw(here.place, node);
      } catch (error) {
        if (!signal.aborted) replaceChildren(here.place, nodeHead(name), el('p', { class: 'section' }, error.message));
      }
    };
    signal.addEventListener('abort', subscribe('nodes', (change) => { if (change.slots?.includes(slot)) load(); }));
    await load();
  },
  close() {
    store.rings = [];
    publish('rings');
  },
};

function nodeHead(name, node) {
  return el('div', { class: 'panel-head' },
    el('a', { class: 'back', href: '#/map' }, '‹ all pending pods'),
    el('h1', { class: 'mono' }, name),
    node && el('p', { class: 'quiet' }, el('span', { class: `verdict ${node.flags & NOT_READY ? 'never' : node.flags & CORDONED ? 'gated' : 'fits'}` },
      [node.flags & NOT_READY ? '' : 'Ready', flagWords(node.flags)].filter(Boolean).join(', ')), ` ${placeWords(node)}`));
}

function placeWords(node) {
  return map.groups.filter(Boolean).map((key) => node.labels[key]).filter(Boolean).join(' · ');
}

function draw(place, node) {
  const top = place.scrollTop;
  const again = () => draw(place, node);
  replaceChildren(place, nodeHead(node.name, node), resources(node), blocks(node, again), visitors(node), podTable(node, again), details(node),
    el('div', { class: 'section buttons' },
      offersWhatIf() && el('a', { class: 'button primary', href: route('what-if', [], { drain: node.name }) }, 'What if it were drained?')));
  place.scrollTop = top;
}

function offered(node) {
  return Object.keys(node.allocatable).filter((name) => node.allocatable[name] > 0);
}

function resources(node) {
  return section('Requested', `${plural(node.pods.length, 'pod')}`, el('div', { class: 'card-bars wide' }, offered(node).map((name) => {
    const used = (node.requested[name] || 0) / node.allocatable[name];
    return [
      el('span', { title: name }, resourceName(name)),
      el('span', { class: 'bar' }, el('i', { style: { width: `${Math.min(100, used * 100)}%`, background: map.ramp[Math.max(6, rampStep(Math.min(1, used)))] } })),
      el('span', { class: 'figure' }, amountOf(name, node.requested[name] || 0, node.allocatable[name])),
    ];
  })));
}

/** Pods as blocks: the width is the share of the chosen resource, the colour the workload. */
function blocks(node, again) {
  const names = offered(node).filter((name) => name !== 'pods');
  if (!names.includes(state.resource)) [state.resource] = names;
  const whole = node.allocatable[state.resource] || 1;
  const taken = node.pods.filter((pod) => pod.requests[state.resource] > 0);
  const choose = (value) => {
    state.resource = value;
    again();
  };
  return section('Pods by share of', select('Resource of the blocks', names.map((name) => [name, resourceName(name)]), state.resource, choose),
    el('div', { class: 'pod-blocks' }, taken.map((pod) => el('a', {
      href: podRoute(pod.pod), title: `${pod.pod}: ${amount(state.resource, pod.requests[state.resource])}`,
      'aria-label': pod.pod,
      style: { 'flex-basis': `${Math.max(0.7, (100 * pod.requests[state.resource]) / whole)}%`, background: workloadColour(pod.workload) },
    }, pod.requests[state.resource] / whole > 0.08 ? shortWorkload(pod.workload).split('/').pop() : ''))));
}

/** Which pending pods would fit here, for the largest groups; computed when it is opened. */
function visitors(node) {
  const groups = (store.lastPending?.groups || []).filter((group) => group.sample?.length && group.state !== 'gated').slice(0, MAX_VISITORS);
  if (!groups.length || isEmbedded()) return null;
  const list = el('ul', { class: 'plain', 'aria-live': 'polite' }, el('li', { class: 'quiet' }, 'Computing…'));
  const load = async () => {
    const answers = await Promise.all(groups.map((group) => getJson(`why-not/${group.sample[0].split('/').map(encodeURIComponent).join('/')}/${apiPath(node.name)}`).catch((error) => ({ sentence: error.message }))));
    const fitting = groups.reduce((sum, group, i) => sum + (answers[i].fits ? group.pods : 0), 0);
    const all = groups.reduce((sum, group) => sum + group.pods, 0);
    replaceChildren(list, el('li', {}, el('b', {}, `${count(fitting)} of ${plural(all, 'pending pod')} would fit.`)),
      groups.map((group, i) => el('li', {}, el('a', { href: podRoute(group.sample[0], { group: group.id }) }, `${count(group.pods)} × ${Object.keys(group.workloads).map(shortWorkload)[0] || group.sample[0]}`),
        el('span', { class: answers[i].fits ? 'ok' : 'quiet' }, ` ${answers[i].sentence}`))));
  };
  const box = folded('Which pending pods may come', list);
  box.addEventListener('toggle', () => { if (box.open) load(); }, { once: true });
  return box;
}

const COLUMNS = [
  ['name', 'name', (pod) => pod.pod], ['cpu', 'cpu', (pod) => pod.requests.cpu || 0],
  ['memory', 'memory', (pod) => pod.requests.memory || 0], ['priority', 'priority', (pod) => pod.priority],
  ['since', 'since', (pod) => pod.since],
];

function podTable(node, again) {
  const order = (column) => {
    if (state.sort === column) state.down = !state.down;
    else Object.assign(state, { sort: column, down: column !== 'name' });
    again();
  };
  const rows = sortedPods(node.pods).slice(0, MAX_LISTED_PODS);
  const timed = rows.some((pod) => ageNow(pod.since) !== null);
  const head = COLUMNS.filter(([name]) => timed || name !== 'since').map(([name, text]) => el('th', { scope: 'col', 'aria-sort': state.sort === name ? (state.down ? 'descending' : 'ascending') : null },
    el('button', { type: 'button', class: 'link', onclick: () => order(name) }, text)));
  return section('Pods', plural(node.pods.length, 'pod'), scrolledTable('Pods of the node', head, rows.map((pod) => podRow(pod, timed)), 'amounts'),
  node.pods.length > MAX_LISTED_PODS && el('p', { class: 'quiet' }, `${count(node.pods.length - MAX_LISTED_PODS)} more are not listed.`));
}

function sortedPods(pods) {
  const column = COLUMNS.find(([name]) => name === state.sort);
  if (!column) return pods;
  const sign = state.down ? -1 : 1;
  return [...pods].sort((a, b) => {
    const [left, right] = [column[2](a), column[2](b)];
    return sign * (left < right ? -1 : left > right ? 1 : 0);
  });
}

function podRow(pod, timed) {
  const age = ageNow(pod.since);
  return el('tr', {},
    el('td', {}, el('a', { class: 'mono', href: podRoute(pod.pod) }, pod.pod), pod.state !== 'running' && el('small', {}, ` ${pod.state}`)),
    numberCells(amount('cpu', pod.requests.cpu || 0), amount('memory', pod.requests.memory || 0), count(pod.priority), ...(timed ? [age === null ? '–' : duration(age)] : [])));
}

function details(node) {
  const age = ageNow(node.created);
  return [
    section('Node', '', factRows([
      ['taints', node.taints.join(', ')], ['kubelet', node.kubelet], ['age', age !== null && age > 0 ? duration(age) : null],
      ['conditions', Object.entries(node.conditions).map(([type, status]) => `${type} ${status}`).join(', ')],
      ['nominated pods', node.nominated.join(', ')],
    ])),
    folded(plural(Object.keys(node.labels).length, 'label'), el('ul', { class: 'plain mono' },
      Object.entries(node.labels).sort().map(([key, value]) => el('li', {}, `${key}=${value}`)))),
  ];
}
