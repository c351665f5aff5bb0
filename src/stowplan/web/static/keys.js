// Keys that work everywhere, and the dialog that lists all of them.
import { byId, el, replaceChildren } from './dom.js';
import { fitMap, zoomAt, map } from './map.js';
import { currentRoute, go } from './router.js';
import { focusSearch } from './search.js';

const LISTED = [
  ['/', 'search for nodes, pods and workloads'],
  ['g m, g p, g q, g c', 'go to Map, Pending, Queue, Config'],
  ['Escape', 'go back'],
  ['+  −  0', 'zoom in, zoom out, show all'],
  ['arrows', 'on the map: move between nodes; in lists: move between rows'],
  ['Shift + arrows', 'on the map: pan'],
  ['Enter', 'open the node or row'],
  ['Space', 'on the map: select the node; elsewhere: play and stop'],
  [',  .', 'one event back, one forward; with Shift to the next notable one'],
  ['f', 'on the Pending page: filter'],
  ['?', 'this list'],
];
const GOALS = { m: '#/map', p: '#/pending', q: '#/queue', c: '#/config', d: '#/compare' };
const extra = new Map();
let awaiting = 0;

/** Registers a key for the whole page: `handler(event)`; the timeline registers its keys here. */
export function addKey(key, handler) {
  extra.set(key, handler);
}

export function startKeys() {
  addEventListener('keydown', (event) => {
    const typing = event.target.closest?.('input, select, textarea, [contenteditable]');
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || byId('keys').open) return;
    if (typing && event.key !== 'Escape') return;
    if (handle(event)) event.preventDefault();
  });
}

function handle(event) {
  const { key } = event;
  if (awaiting && Date.now() - awaiting < 1200 && GOALS[key]) {
    awaiting = 0;
    go(GOALS[key]);
    return true;
  }
  awaiting = key === 'g' ? Date.now() : 0;
  if (key === '/') focusSearch();
  else if (key === '?') showKeys();
  else if (key === 'Escape') back();
  else if (key === '0') fitMap();
  else if (key === '+') zoomAt(map.width / 2, map.height / 2, 1.4);
  else if (key === '-') zoomAt(map.width / 2, map.height / 2, 1 / 1.4);
  else if (extra.has(key)) {
    const plain = key === ' ' && event.target.closest?.('button, a, summary, canvas');
    if (plain) return false;
    extra.get(key)(event);
  } else return false;
  return true;
}

function back() {
  const here = currentRoute();
  if (here.name === 'matrix') go(`#/pod/${here.segments.map(encodeURIComponent).join('/')}`);
  else if (here.name !== 'map') go('#/map');
}

export function showKeys() {
  const dialog = byId('keys');
  replaceChildren(dialog,
    el('h2', { id: 'keys-title' }, 'Keys'),
    el('dl', {}, LISTED.map(([key, text]) => el('div', {}, el('dt', {}, el('kbd', {}, key)), el('dd', {}, text)))),
    el('button', { type: 'button', class: 'button', onclick: () => dialog.close() }, 'Close'));
  dialog.showModal();
}
