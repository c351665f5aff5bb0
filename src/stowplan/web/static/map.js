// The map: a canvas with a cell for each node. Keeps the layout, the camera and the colouring; paints once a frame.
import { colouring } from './colouring.js';
import { ramp, themeTokens } from './colours.js';
import { byId } from './dom.js';
import { groupSlots, layOut, neighbour, offsetsNear, slotAt } from './layout.js';
import { CARDS_FROM, paintMap } from './map_paint.js';
import { tileSide } from './map_tiles.js';
import { loadPods } from './pods.js';
import { labelOf, liveSlots, publish, store, subscribe } from './store.js';

const MAX_SIZE_PIXELS = 420;
const FLASH_MILLISECONDS = 200;
const LOAD_PODS_FROM = 50;

/** The map's state, for modules that draw beside it and for tests. */
export const map = {
  canvas: null, ctx: null, width: 0, height: 0, scale: 1, layout: null, zoom: 1, x: 0, y: 0, size: 8, tokens: null,
  ramp: [], colouring: null, mode: 'fullest', groups: ['', ''], hover: -1, cursor: -1, selected: new Set(),
  xs: new Float32Array(0), ys: new Float32Array(0), shown: new Uint8Array(0), visible: [], side: 1, flashes: new Map(),
  paints: [], at: slotAtPoint, centre: centreOf,
};
let frame = 0;
let moved = true;

/** Starts the map on its canvas. */
export function startMap() {
  map.canvas = byId('map');
  map.ctx = map.canvas.getContext('2d', { alpha: false });
  new ResizeObserver(resize).observe(map.canvas.parentElement);
  subscribe('nodes', nodesChanged);
  subscribe('pods', () => { if (usesPods()) recolour(); requestPaint(); });
  subscribe('focus', requestPaint);
  subscribe('rings', requestPaint);
  document.addEventListener('visibilitychange', requestPaint);
  themeChanged();
  resize();
}

export function themeChanged() {
  map.tokens = themeTokens();
  map.ramp = ramp(map.tokens.dark);
  recolour();
}

function usesPods() {
  return map.mode === 'workload' || map.mode === 'priority';
}

function resize() {
  const box = map.canvas.parentElement.getBoundingClientRect();
  const scale = globalThis.devicePixelRatio || 1;
  if (!box.width || (box.width === map.width && box.height === map.height && scale === map.scale)) return;
  Object.assign(map, { width: box.width, height: box.height, scale });
  map.canvas.width = Math.round(box.width * scale);
  map.canvas.height = Math.round(box.height * scale);
  arrange();
}

/** Computes groups and layout again; a zoomed map keeps the node in its middle, otherwise all of it is shown. */
export function arrange() {
  if (!store.nodes || !map.width) return;
  const [first, second] = map.groups.map((key) => (key ? (slot) => labelOf(key, slot) || '(none)' : null));
  const columns = groupSlots(liveSlots(), store.nodes.names, first, second);
  const [kept, size] = [map.zoom > 1 ? slotAtPoint(map.width / 2, map.height / 2) : -1, map.size];
  map.layout = layOut(columns, map.width, map.height, map.scale);
  fitMap();
  if (kept >= 0) showCell(kept, size);
}

export function setGroups(first, second) {
  map.groups = [first, second];
  map.zoom = 1;
  arrange();
}

/** Colours cells by a mode of `colourModes`. */
export function setMode(mode) {
  map.mode = mode;
  if (usesPods() && !store.pods) loadPods().catch(() => {});
  recolour();
  publish('mode');
}

export function recolour() {
  if (!store.nodes) return;
  map.colouring = colouring(map.mode, map.tokens.dark);
  requestPaint();
  publish('colouring');
}

function nodesChanged(change) {
  if (change.all || !map.colouring || !map.layout) {
    recolour();
    arrange();
    return;
  }
  for (const slot of change.slots) map.colouring.set(slot);
  for (const column of map.layout.columns) column.sums = null;
  requestPaint();
}

/** Rings cells for a moment, where motion is welcome. */
export function flashSlots(slots) {
  if (matchMedia('(prefers-reduced-motion: reduce)').matches) return;
  const end = performance.now() + FLASH_MILLISECONDS;
  for (const slot of slots) map.flashes.set(slot, end);
  requestPaint();
}

export function requestPaint() {
  if (!frame) frame = requestAnimationFrame(paint);
}

function paint() {
  frame = 0;
  if (!map.layout || !map.colouring || document.hidden || !map.width) return;
  const start = performance.now();
  if (moved) place();
  const rings = store.rings.map((ring) => ring);
  for (const slot of map.selected) rings.push({ slot, kind: 'selected' });
  for (const [slot, end] of map.flashes) {
    if (end > start) rings.push({ slot, kind: 'flash' });
    else map.flashes.delete(slot);
  }
  if (map.cursor >= 0) rings.push({ slot: map.cursor, kind: 'cursor' });
  if (map.hover >= 0) rings.push({ slot: map.hover, kind: 'hover' });
  paintMap({ ...map, rings, dimmed: store.focus });
  if (map.size >= LOAD_PODS_FROM && !store.pods) loadPods().catch(() => {});
  map.paints.push(performance.now() - start);
  if (map.paints.length > 600) map.paints.splice(0, 300);
  document.documentElement.dataset.painted = String(Number(document.documentElement.dataset.painted || 0) + 1);
  if (map.flashes.size) requestPaint();
}

/** Positions of cells on the screen, rounded to device pixels, and which are visible. */
function place() {
  moved = false;
  const { layout, size, scale } = map;
  const { cellX, cellY, offsetX, offsetY, blockOf } = layout;
  const { length } = cellX;
  if (map.xs.length !== length) {
    map.xs = new Float32Array(length);
    map.ys = new Float32Array(length);
    map.shown = new Uint8Array(length);
  }
  const visible = [];
  for (let slot = 0; slot < length; slot += 1) {
    const x = Math.round((cellX[slot] * size + offsetX[slot] - map.x) * scale) / scale;
    const y = Math.round((cellY[slot] * size + offsetY[slot] - map.y) * scale) / scale;
    const shown = blockOf[slot] >= 0 && x > -size && y > -size && x < map.width && y < map.height;
    map.xs[slot] = x;
    map.ys[slot] = y;
    map.shown[slot] = shown ? 1 : 0;
    if (shown) visible.push(slot);
  }
  map.visible = visible;
  const side = tileSide(visible.length, size);
  if (side === map.side) return;
  map.side = side;
  publish('colouring');
}

function slotAtPoint(x, y) {
  return map.layout ? slotAt(map.layout, x + map.x, y + map.y, map.size) : -1;
}

function centreOf(slot) {
  if (moved) place();
  return [map.xs[slot] + map.size / 2, map.ys[slot] + map.size / 2];
}

/** Moves the camera; keeps part of the map in view. */
function moveTo(x, y, zoom = map.zoom) {
  map.zoom = zoom;
  map.size = map.layout.pitch * zoom;
  const width = map.layout.cellsWide * map.size + map.layout.pixelsWide;
  const height = map.layout.cellsHigh * map.size + map.layout.pixelsHigh;
  const clamp = (at, world, room) => (world <= room ? Math.max(0, Math.min(at, 0)) : Math.max(-40, Math.min(at, world - room + 40)));
  map.x = clamp(x, width, map.width);
  map.y = clamp(y, height, map.height);
  moved = true;
  requestPaint();
  publish('camera');
}

export function panBy(dx, dy) {
  moveTo(map.x + dx, map.y + dy);
}

/** Shows the whole map. */
export function fitMap() {
  if (map.layout) moveTo(0, 0, 1);
}

/** Zooms by a factor; the cell at the point of the screen stays where it is. */
export function zoomAt(x, y, factor) {
  const { layout } = map;
  if (!layout) return;
  const zoom = Math.max(1, Math.min(map.zoom * factor, Math.max(1, MAX_SIZE_PIXELS / layout.pitch)));
  const near = offsetsNear(layout, x + map.x, y + map.y, map.size);
  const cellX = (x + map.x - near.offsetX) / map.size;
  const cellY = (y + map.y - near.offsetY) / map.size;
  const size = layout.pitch * zoom;
  moveTo(cellX * size + near.offsetX - x, cellY * size + near.offsetY - y, zoom);
}

/** Zooms so that the block at a point fills the view. */
export function zoomToBlock(x, y) {
  const slot = slotAtPoint(x, y);
  if (slot < 0) {
    zoomAt(x, y, 2);
    return;
  }
  const block = map.layout.blocks[map.layout.blockOf[slot]];
  const wanted = Math.min((map.width - 48) / block.width, (map.height - 70) / block.rows);
  const size = wanted > map.size * 1.2 ? wanted : Math.max(map.size * 2, CARDS_FROM);
  showCell(wanted > map.size * 1.2 ? block.slots[0] : slot, Math.min(size, MAX_SIZE_PIXELS), wanted <= map.size * 1.2);
}

/** Brings a cell into view at a cell size; in the middle, or at the top left. */
export function showCell(slot, size = map.size, middle = true) {
  const { layout } = map;
  if (!layout || layout.blockOf[slot] === undefined || layout.blockOf[slot] < 0) return;
  const zoom = Math.max(1, size / layout.pitch);
  const real = layout.pitch * zoom;
  const x = layout.cellX[slot] * real + layout.offsetX[slot];
  const y = layout.cellY[slot] * real + layout.offsetY[slot];
  if (middle) moveTo(x + real / 2 - map.width / 2, y + real / 2 - map.height / 2, zoom);
  else moveTo(x - 20, y - 60, zoom);
}

/** Moves the keyboard's cursor; returns the slot. */
export function moveCursor(dx, dy) {
  if (!map.layout?.blocks.length) return -1;
  const from = map.cursor >= 0 ? map.cursor : -1;
  map.cursor = from < 0 ? map.layout.blocks[0].slots[0] : neighbour(map.layout, from, dx, dy, map.size);
  if (map.cursor < 0) map.cursor = from;
  if (moved) place();
  const [x, y] = centreOf(map.cursor);
  if (x < 0 || y < 0 || x > map.width || y > map.height) showCell(map.cursor);
  requestPaint();
  return map.cursor;
}
