// Pointer, wheel, touch and keys on the map.
import { showCard, spokenNode } from './card.js';
import { announce, byId, el, replaceChildren } from './dom.js';
import { amountOf, percent, plural, resourceName } from './format.js';
import { fitMap, map, moveCursor, panBy, requestPaint, showCell, zoomAt, zoomToBlock } from './map.js';
import { go, route } from './router.js';
import { store, sums } from './store.js';

const CLICK_PIXELS = 4;
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const pointers = new Map();
let drag = null;

export function startMapInput() {
  const { canvas } = map;
  canvas.addEventListener('pointerdown', down);
  canvas.addEventListener('pointermove', move);
  canvas.addEventListener('pointerup', up);
  canvas.addEventListener('pointercancel', up);
  canvas.addEventListener('pointerleave', () => hover(-1));
  canvas.addEventListener('wheel', wheel, { passive: false });
  canvas.addEventListener('dblclick', (event) => zoomToBlock(...point(event)));
  canvas.addEventListener('keydown', keys);
  canvas.addEventListener('blur', () => {
    map.cursor = -1;
    showCard(-1);
    requestPaint();
  });
}

function point(event) {
  const box = map.canvas.getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top];
}

function hover(slot, x = 0, y = 0) {
  if (slot !== map.hover) requestPaint();
  map.hover = slot;
  showCard(slot, x, y);
}

function down(event) {
  map.canvas.setPointerCapture(event.pointerId);
  pointers.set(event.pointerId, point(event));
  const [x, y] = point(event);
  drag = { x, y, startX: x, startY: y, moved: false, rectangle: event.shiftKey };
  if (pointers.size === 2) drag.pinch = spread();
}

function spread() {
  const [[ax, ay], [bx, by]] = [...pointers.values()];
  return { distance: Math.hypot(ax - bx, ay - by) || 1, x: (ax + bx) / 2, y: (ay + by) / 2 };
}

function move(event) {
  const [x, y] = point(event);
  if (!pointers.has(event.pointerId)) {
    hover(map.at(x, y), x, y);
    return;
  }
  pointers.set(event.pointerId, [x, y]);
  if (pointers.size === 2) {
    pinch();
    return;
  }
  if (Math.hypot(x - drag.startX, y - drag.startY) > CLICK_PIXELS) drag.moved = true;
  if (!drag.moved) return;
  hover(-1);
  if (drag.rectangle) showRectangle(drag.startX, drag.startY, x, y);
  else panBy(drag.x - x, drag.y - y);
  drag.x = x;
  drag.y = y;
}

function pinch() {
  const now = spread();
  panBy(drag.pinch.x - now.x, drag.pinch.y - now.y);
  zoomAt(now.x, now.y, now.distance / drag.pinch.distance);
  drag.pinch = now;
  drag.moved = true;
}

function up(event) {
  pointers.delete(event.pointerId);
  if (!drag || pointers.size) return;
  const [x, y] = point(event);
  if (drag.rectangle && drag.moved) selectRectangle(drag.startX, drag.startY, x, y);
  else if (!drag.moved && event.type === 'pointerup') click(map.at(x, y), event.shiftKey);
  byId('rectangle').hidden = true;
  drag = null;
}

function click(slot, adding) {
  if (adding && slot >= 0) {
    if (!map.selected.delete(slot)) map.selected.add(slot);
    showSums();
    requestPaint();
  } else if (slot >= 0) {
    clearSelection();
    go(route('node', [store.nodes.names[slot]]));
  } else {
    clearSelection();
  }
}

export function clearSelection() {
  map.selected.clear();
  showSums();
  requestPaint();
}

function wheel(event) {
  event.preventDefault();
  const [x, y] = point(event);
  const lines = event.deltaMode === 1 ? 16 : 1;
  zoomAt(x, y, Math.exp(-event.deltaY * lines * 0.0016));
  hover(map.at(x, y), x, y);
}

function showRectangle(ax, ay, bx, by) {
  const box = byId('rectangle');
  box.hidden = false;
  const set = (name, value) => box.style.setProperty(name, `${Math.round(value)}px`);
  set('left', Math.min(ax, bx));
  set('top', Math.min(ay, by));
  set('width', Math.abs(ax - bx));
  set('height', Math.abs(ay - by));
}

function selectRectangle(ax, ay, bx, by) {
  const [left, right, top, bottom] = [Math.min(ax, bx), Math.max(ax, bx), Math.min(ay, by), Math.max(ay, by)];
  for (const slot of map.visible) {
    const [x, y] = map.centre(slot);
    if (x >= left && x <= right && y >= top && y <= bottom) map.selected.add(slot);
  }
  showSums();
  requestPaint();
}

/** Sums over the selected nodes, in a box over the map. */
function showSums() {
  const box = byId('sums');
  box.hidden = map.selected.size === 0;
  if (box.hidden) return;
  const slots = [...map.selected];
  const rows = store.nodes.resources.map((resource) => [resource, ...sums(resource, slots)]).filter(([, , whole]) => whole > 0);
  replaceChildren(box,
    el('strong', {}, plural(slots.length, 'node')),
    el('button', { type: 'button', class: 'link', onclick: clearSelection }, 'clear'),
    rows.map(([resource, used, whole]) => el('span', {},
      `${resourceName(resource)} ${amountOf(resource, used, whole)} (${percent(used, whole)} %)`)));
  announce(`${plural(slots.length, 'node')} selected`);
}

function keys(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const arrow = ARROWS[event.key];
  if (arrow && event.shiftKey) panBy(arrow[0] * 80, arrow[1] * 80);
  else if (arrow) cursorTo(moveCursor(...arrow));
  else if (event.key === 'Enter' && map.cursor >= 0) go(route('node', [store.nodes.names[map.cursor]]));
  else if (event.key === ' ' && map.cursor >= 0) click(map.cursor, true);
  else if (event.key === '+' || event.key === '=') zoomAtCursor(1.4);
  else if (event.key === '-') zoomAtCursor(1 / 1.4);
  else if (event.key === '0') fitMap();
  else return;
  event.preventDefault();
}

function cursorTo(slot) {
  if (slot < 0) return;
  const [x, y] = map.centre(slot);
  showCard(slot, x, y);
  announce(spokenNode(slot));
}

function zoomAtCursor(factor) {
  if (map.cursor >= 0) {
    zoomAt(...map.centre(map.cursor), factor);
    showCell(map.cursor);
  } else {
    zoomAt(map.width / 2, map.height / 2, factor);
  }
}
