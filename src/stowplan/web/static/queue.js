// The Queue page: charts over time, the first pods of each sub-queue, the latest events of the scheduling loop.
import { makeChart, timeText } from './charts.js';
import { el, numberCells, replaceChildren, scrolledTable } from './dom.js';
import { count, duration, plural } from './format.js';
import { getJson } from './net.js';
import { podRoute } from './panel.js';
import { section } from './pod_parts.js';
import { route } from './router.js';
import { store, subscribe } from './store.js';

const REFRESH_MILLISECONDS = 1500;
const MAX_FEED_ROWS = 200;
const QUEUES = ['active', 'backoff', 'unschedulable', 'gated', 'permit'];
const TITLES = { active: 'Active, in order', backoff: 'In backoff', unschedulable: 'Unschedulable', gated: 'Gated', permit: 'Waiting at Permit' };

export const queueView = {
  name: 'queue',
  layout: 'page',
  title: () => 'Queue',
  open(here, signal) {
    const charts = el('div', { class: 'charts' });
    const tables = el('div', { class: 'queue-tables' });
    const feed = feedList();
    replaceChildren(here.place, el('div', { class: 'page-head' }, el('h1', { id: 'queue-title' }, 'Queue'), el('p', { class: 'quiet', id: 'queue-counts' })),
      charts, tables, feed.element);
    let drawn = [];
    const draw = () => {
      if (drawn.length) updateCharts(drawn);
      else drawn = store.history?.time.length ? drawCharts(charts) : noCharts(charts);
    };
    draw();
    signal.addEventListener('abort', () => drawn.forEach((chart) => chart.destroy()));
    const load = () => loadQueue(tables, feed, signal);
    let timer = null;
    const later = () => { timer ||= setTimeout(() => { timer = null; load(); }, REFRESH_MILLISECONDS); };
    const ends = [subscribe('queue', later), subscribe('pending', later), subscribe('history', draw), subscribe('feed', later)];
    signal.addEventListener('abort', () => {
      ends.forEach((end) => end());
      clearTimeout(timer);
    });
    load();
  },
};

function noCharts(place) {
  const kept = store.hello.features.includes('history');
  replaceChildren(place, el('p', { class: 'section quiet' }, kept ? 'No samples yet.' : 'This source keeps no history, so there are no charts.'));
  return [];
}

const CHARTS = [
  { title: 'Pods by queue', stack: true, names: ['unschedulable', 'backoff', 'active', 'gated'], of: (history, name) => history.queues[name] || [] },
  { title: 'Bound and failed attempts a second', names: ['bound', 'failed'], colours: ['active', 'unschedulable'], of: (history, name) => history[name] },
  { title: 'Wait until bound, seconds', names: ['p50', 'p90', 'p99'], colours: ['active', 'backoff', 'rate'], of: (history, name) => history.waits[name] || [] },
  { title: 'Duration of an attempt, milliseconds', names: ['p50', 'p99'], colours: ['active', 'rate'], of: (history, name) => history.attempts[name] || [] },
];

function drawCharts(place) {
  replaceChildren(place);
  const shown = CHARTS.filter((definition) => definition.names.some((name) => definition.of(store.history, name)?.some?.((value) => value > 0)));
  const drawn = shown.map((definition) => {
    const box = el('div', { class: 'chart-box' });
    const series = definition.names.map((name, i) => ({ label: name, colour: definition.colours?.[i] || name }));
    place.append(el('figure', { class: 'chart' },
      el('figcaption', {}, el('b', {}, definition.title), series.map((entry) => el('span', { class: 'key' },
        el('i', { class: `swatch line-${entry.colour}` }), entry.label))), box));
    return { ...makeChart(box, { series, stack: definition.stack, height: 150, sync: 'queue' }), definition };
  });
  updateCharts(drawn);
  return drawn;
}

function updateCharts(drawn) {
  const { history } = store;
  if (!history?.time.length) return;
  for (const chart of drawn) {
    const length = history.time.length;
    const lists = chart.definition.names.map((name) => {
      const list = chart.definition.of(history, name);
      return list.length === length ? list : new Array(length).fill(0);
    });
    chart.update(history.time, lists);
  }
}

async function loadQueue(tables, feed, signal) {
  try {
    const queue = await getJson('queue');
    if (signal.aborted) return;
    const counts = Object.entries(queue.counts).map(([name, number]) => `${name} ${count(number)}`).join(' · ');
    document.getElementById('queue-counts').textContent = counts;
    replaceChildren(tables, QUEUES.filter((name) => queue[name].length).map((name) => queueTable(name, queue)));
    if (!tables.children.length) replaceChildren(tables, el('p', { class: 'section quiet' }, 'The queue is empty.'));
    feed.update(queue.feed);
  } catch (error) {
    if (!signal.aborted) replaceChildren(tables, el('p', { class: 'section' }, error.message));
  }
}

function queueTable(name, queue) {
  const more = (queue.counts[name] || 0) - queue[name].length;
  return section(TITLES[name], plural(queue.counts[name] ?? queue[name].length, 'pod'),
    scrolledTable(TITLES[name], ['pod', 'priority', 'attempts', name === 'backoff' ? 'left' : 'waits', 'plugins'], queue[name].map((row) => el('tr', {},
      el('td', {}, el('a', { class: 'mono', href: podRoute(row.pod) }, row.pod)),
      numberCells(count(row.priority), count(row.attempts), waitText(row, queue.time, name)), el('td', { class: 'quiet', title: row.plugins.join(', ') }, row.plugins.join(', ')))), 'queue'),
    more > 0 && el('p', { class: 'quiet' }, `${count(more)} more`));
}

function waitText(row, now, name) {
  if (name === 'backoff' && row.until) return duration(Math.max(0, row.until - now));
  return row.since ? duration(Math.max(0, now - row.since)) : '–';
}

/** The feed stands still while the pointer or the focus is on it. */
function feedList() {
  const list = el('ol', { class: 'feed' });
  const note = el('span', { class: 'quiet' });
  const element = el('section', { class: 'section feed-box', tabindex: 0, 'aria-label': 'Latest events' },
    el('div', { class: 'section-head' }, el('h2', {}, 'Latest events'), note), list);
  let paused = false;
  let latest = [];
  const draw = () => replaceChildren(list, latest.length ? latest.slice(0, MAX_FEED_ROWS).map(feedRow) : el('li', { class: 'quiet' }, 'None yet.'));
  const pause = (value) => () => {
    paused = value;
    note.textContent = value ? 'paused' : '';
    if (!value) draw();
  };
  for (const [event, value] of [['pointerenter', true], ['pointerleave', false], ['focusin', true], ['focusout', false]]) element.addEventListener(event, pause(value));
  return {
    element,
    update(items) {
      latest = items;
      if (!paused) draw();
    },
  };
}

function feedRow(item) {
  return el('li', {}, el('time', {}, timeText(item.time)), el('span', { class: `feed-kind ${item.kind}` }, item.kind),
    el('span', {}, item.pod ? el('a', { class: 'mono', href: podRoute(item.pod) }, item.pod) : null,
      item.node && [item.pod ? ' → ' : '', el('a', { class: 'mono', href: route('node', [item.node]) }, item.node)], item.text && ` ${item.text}`));
}
