// The timeline in the footer: queues and rate over time; of a run also a handle with play, step and speed.
import { makeChart, timeText } from './charts.js';
import { el, replaceChildren, select, svg } from './dom.js';
import { count } from './format.js';
import { addKey } from './keys.js';
import { flashSlots } from './map.js';
import { loadPods } from './pods.js';
import { RUN_BOUND, RUN_EVICTED, RUN_FAILED, RUN_JOINED, RUN_LEFT, RUN_REMOVED, Replay, loadRunEvents } from './replay.js';
import { currentRoute, setQuery } from './router.js';
import { pendingAt, queueAt } from './run_lists.js';
import { applyEvent, publish, store, subscribe } from './store.js';

const HEIGHT_PIXELS = 112;
const HANDLE_EDGE_PIXELS = 5;
const SECONDS_SPEEDS = [1, 4, 16, 60, 600, 3600, 21600, 86400];
const ATTEMPT_SPEEDS = [1, 10, 50, 200, 1000, 5000];
const SHORTEST_PLAY_SECONDS = 4;
const USUAL_PLAY_SECONDS = { seconds: 120, attempts: 30 };
const NOTABLE = new Set([RUN_EVICTED, RUN_FAILED, RUN_JOINED, RUN_LEFT]);
const MAX_FLASHES = 400;
const LISTS_MILLISECONDS = 250;
const FRAMES_IN_ALL = 480;
const SERIES = ['unschedulable', 'backoff', 'active', 'gated'];
const RATE = 'bound a second';

/** The timeline's state, for tests: `replay` once the events are loaded. */
export const timeline = { replay: null, seek: seekTo, time: 0, playing: false, speed: 1 };
let parts = null;
let loading = null;
let lastFrame = 0;
let listsDue = 0;
let addressDue = 0;

/** Starts the timeline in its place; without history there is none. */
export function startTimeline(place) {
  globalThis.stowplan.timeline = timeline;
  const { features } = store.hello;
  place.hidden = !features.includes('history');
  if (place.hidden) return;
  const run = features.includes('run');
  build(place, run);
  subscribe('history', drawHistory);
  subscribe('theme', () => {
    parts.chart.destroy();
    parts.chart = chartIn(parts.box);
    drawHistory();
  });
  if (run) startRun();
}

function build(place, run) {
  const box = el('div', { class: 'timeline-chart' });
  const marks = el('div', { class: 'timeline-marks', 'aria-hidden': 'true' });
  const handle = el('input', {
    type: 'range', class: 'timeline-handle', min: 0, max: 1, step: 'any', value: 0, hidden: !run, 'aria-label': 'Time of the run',
    oninput: () => scrub(Number(handle.value)),
  });
  const play = el('button', { type: 'button', class: 'play', 'aria-label': 'Play', hidden: !run, onclick: togglePlay }, playIcon(false));
  const time = el('strong', { class: 'timeline-time' });
  const end = el('span', { class: 'quiet' });
  const speed = el('div', { class: 'timeline-speed', hidden: !run });
  const keys = el('p', { class: 'timeline-keys' });
  parts = { box, marks, handle, play, time, end, speed, keys, chart: null };
  replaceChildren(place,
    run && el('div', { class: 'timeline-tools' }, el('div', { class: 'timeline-now' }, play, el('div', {}, time, end)), speed),
    el('div', { class: 'timeline-body' },
      keys, box, marks, handle));
  place.classList.toggle('with-run', run);
  parts.chart = chartIn(box);
}

function chartIn(box) {
  const lines = hasRate() ? [{ label: RATE, colour: 'rate' }] : [];
  return makeChart(box, { series: SERIES.map((name) => ({ label: name, colour: name })), stack: true, height: HEIGHT_PIXELS, lines });
}

function hasRate() {
  return store.hello.unit !== 'attempts';
}

function playIcon(playing) {
  return svg('svg', { width: 16, height: 16, viewBox: '0 0 16 16', 'aria-hidden': 'true' },
    svg('path', { d: playing ? 'M4 3h3v10H4zM9 3h3v10H9z' : 'M5 3l8 5-8 5z' }));
}

function drawHistory() {
  const { history } = store;
  if (!parts || !history?.time.length) return;
  const { length } = history.time;
  parts.chart.update(history.time, SERIES.map((name) => history.queues[name] || new Array(length).fill(0)), hasRate() ? [history.bound] : []);
  const shownSeries = SERIES.filter((name) => name !== 'gated' || history.queues.gated?.some((pods) => pods > 0));
  replaceChildren(parts.keys, hasRate() && el('span', { class: 'key' }, el('i', { class: 'swatch line-rate flat' }), RATE),
    shownSeries.reverse().map((name) => el('span', { class: 'key' }, el('i', { class: `swatch line-${name}` }), name)));
  const { bbox } = parts.chart.chart;
  const scale = globalThis.devicePixelRatio || 1;
  for (const [part, edge] of [[parts.handle, HANDLE_EDGE_PIXELS], [parts.marks, 0]]) {
    part.style.setProperty('left', `${bbox.left / scale - edge}px`);
    part.style.setProperty('width', `${bbox.width / scale + 2 * edge}px`);
  }
  const [first, last] = [history.time[0], history.time.at(-1)];
  const shown = history.marks.filter((mark) => mark.time >= first && mark.time <= last);
  const place = (mark) => (100 * (mark.time - first)) / (last - first || 1);
  replaceChildren(parts.marks, shown.map((mark, i) => {
    const room = (i + 1 < shown.length ? place(shown[i + 1]) : 100) - place(mark);
    return el('span', { class: `mark${room > 14 ? ' wide' : ''}`, title: `${timeText(mark.time)} ${mark.text}`, style: { left: `${place(mark)}%`, width: `${room}%` } }, el('b', {}, '▼'), ` ${mark.text}`);
  }));
}

async function startRun() {
  addKey(' ', togglePlay);
  addKey(',', () => stepBy(-1));
  addKey('.', () => stepBy(1));
  addKey('<', () => jump(-1));
  addKey('>', () => jump(1));
  const wanted = currentRoute().query.get('t');
  await loadRun();
  const { events } = timeline.replay;
  parts.handle.max = events.end;
  if (!timeline.replay.times.length) {
    parts.play.disabled = true;
    parts.handle.hidden = true;
    parts.time.textContent = 'Nothing to play';
    parts.end.textContent = 'no pod was tried';
    parts.speed.hidden = true;
    document.documentElement.dataset.run = 'ready';
    return;
  }
  drawSpeeds(events);
  drawHistory();
  if (wanted !== null && Number.isFinite(Number(wanted))) seekTo(Number(wanted));
  else if (events.plays) {
    seekTo(0);
    togglePlay();
  } else showTime();
  document.documentElement.dataset.run = 'ready';
}

/** Speeds up to one at which the run takes a few seconds; chosen is one at which it takes at most two minutes. */
function drawSpeeds({ end, unit }) {
  const all = unit === 'attempts' ? ATTEMPT_SPEEDS : SECONDS_SPEEDS;
  const speeds = all.filter((speed, i) => i < 5 || end / speed >= SHORTEST_PLAY_SECONDS);
  timeline.speed = speeds.find((speed) => end / speed <= USUAL_PLAY_SECONDS[unit]) ?? speeds.at(-1);
  const texts = speeds.map((speed) => [String(speed), unit === 'attempts' ? `${count(speed)} a second` : `×${count(speed)}`]);
  replaceChildren(parts.speed, select('Speed', [...texts, ['0', 'as fast as drawn']], String(timeline.speed), (value) => { timeline.speed = Number(value); }));
}

/** Loads the events, and adds the nodes that were lost during the run to the columns. */
function loadRun() {
  loading ||= Promise.all([loadRunEvents(), loadPods()]).then(([events, pods]) => {
    const { nodes } = store;
    if (events.lost.name.length) {
      const slots = events.lost.name.map((_, i) => nodes.length + i);
      applyEvent('joined', { slot: slots, nodes: events.lost });
    }
    timeline.replay = new Replay(events, nodes, pods);
    timeline.replay.seek(timeline.replay.times.length);
    timeline.time = events.end;
    Object.assign(nodes, { requested: timeline.replay.state.requested, flags: timeline.replay.state.flags });
    publish('nodes', { all: true });
    return timeline.replay;
  });
  return loading;
}

/** Shows the state at a time. */
function seekTo(time) {
  const { replay } = timeline;
  if (!replay) return;
  timeline.time = Math.max(0, Math.min(time, replay.events.end));
  goTo(replay.positionAt(timeline.time));
}

function goTo(position) {
  const { replay } = timeline;
  const from = replay.position;
  const changed = replay.seek(position);
  if (changed === null || structureChanged(from, replay.position)) publish('nodes', { all: changed === null ? undefined : true, slots: allSlots() });
  else if (changed.size) publish('nodes', { slots: [...changed] });
  if (changed && timeline.playing && changed.size < MAX_FLASHES) flashSlots(changed);
  showPods();
  showTime();
  if (performance.now() >= listsDue || !timeline.playing) showLists();
}

function allSlots() {
  return Array.from({ length: store.nodes.length }, (_, slot) => slot);
}

/** Whether nodes joined or went between two positions: then cells are arranged again. */
function structureChanged(from, to) {
  const { kind } = timeline.replay.events;
  for (let i = Math.min(from, to); i < Math.max(from, to); i += 1) if (kind[i] === RUN_JOINED || kind[i] === RUN_REMOVED) return true;
  return false;
}

function showPods() {
  const { node } = timeline.replay.state;
  store.pods.node = node;
  store.pods.byNode = null;
  publish('pods');
}

function showLists() {
  listsDue = performance.now() + LISTS_MILLISECONDS;
  const { replay } = timeline;
  const atEnd = replay.position === replay.times.length;
  store.pending = atEnd && store.lastPending ? store.lastPending : pendingAt(replay, store.pods);
  store.queue = queueAt(timeline.time, replay);
  publish('pending');
  if (store.queue) publish('queue', store.queue);
}

function showTime() {
  const { replay, time } = timeline;
  const { end, unit } = replay.events;
  parts.handle.value = time;
  const text = unit === 'attempts' ? `Attempt ${count(Math.floor(time))}` : timeText(time);
  parts.time.textContent = text;
  parts.end.textContent = `of ${unit === 'attempts' ? count(end) : timeText(end)}`;
  parts.handle.setAttribute('aria-valuetext', text);
  parts.handle.style.setProperty('--done', `${(100 * time) / (end || 1)}%`);
  store.run = { ...store.run, time, playing: timeline.playing, speed: timeline.speed };
  publish('run');
  if (performance.now() >= addressDue) {
    addressDue = performance.now() + LISTS_MILLISECONDS;
    setQuery({ t: replay.position === replay.times.length ? '' : String(Math.round(time * 1000) / 1000) });
  }
}

function scrub(time) {
  stop();
  seekTo(time);
}

/** One event back or forward. */
function stepBy(number) {
  const { replay } = timeline;
  if (!replay) return;
  stop();
  goToEvent(replay.position + number);
}

function goToEvent(position) {
  const { replay } = timeline;
  const target = Math.max(0, Math.min(position, replay.times.length));
  timeline.time = target === replay.times.length ? replay.events.end : target ? replay.times[target - 1] : 0;
  goTo(target);
  const { kind, node } = replay.events;
  const slot = target && kind[target - 1] === RUN_BOUND ? replay.slots[node[target - 1]] : -1;
  store.rings = slot >= 0 ? [{ slot, kind: 'near' }] : [];
  publish('rings');
}

/** To the next or previous eviction, failure or change of a node. */
function jump(sign) {
  const { replay } = timeline;
  if (!replay) return;
  stop();
  const { kind } = replay.events;
  let at = replay.position + sign;
  while (at > 0 && at < kind.length && !NOTABLE.has(kind[at - 1])) at += sign;
  goToEvent(at);
}

function stop() {
  if (timeline.playing) togglePlay();
}

function togglePlay() {
  const { replay } = timeline;
  if (!replay?.times.length) return;
  timeline.playing = !timeline.playing;
  if (timeline.playing && timeline.time >= replay.events.end) seekTo(0);
  store.rings = [];
  parts.play.setAttribute('aria-label', timeline.playing ? 'Stop' : 'Play');
  replaceChildren(parts.play, playIcon(timeline.playing));
  lastFrame = performance.now();
  if (timeline.playing) requestAnimationFrame(playFrame);
  else {
    showLists();
    showTime();
  }
}

function playFrame(now) {
  if (!timeline.playing) return;
  const { replay } = timeline;
  const seconds = Math.min(1, Math.max(0, (now - lastFrame) / 1000));
  lastFrame = now;
  const { end } = replay.events;
  seekTo(timeline.time + (timeline.speed ? seconds * timeline.speed : end / FRAMES_IN_ALL));
  if (timeline.time >= end) togglePlay();
  else requestAnimationFrame(playFrame);
}
