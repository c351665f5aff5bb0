// Painting of the maps of two runs: the nodes of both in one layout, with one camera for all canvases.
import { diverging, ramp, rampStep, themeTokens } from './colours.js';
import { groupSlots, layOut } from './layout.js';
import { cutText } from './map_labels.js';
import { sharesByName } from './run_maps.js';
import { expandColumn } from './store.js';

const HEIGHT_PIXELS = 420;
const MAX_ZOOM = 12;
const NAMED_FROM_PIXELS = 64;
const ZONE = 'topology.kubernetes.io/zone';

/** The camera that canvases share: wheel zooms, drag pans, double click shows all. */
export function runCamera() {
  const camera = { zoom: 1, x: 0, y: 0 };
  camera.attach = (place, paint) => {
    let from = null;
    place.addEventListener('wheel', (event) => {
      if (event.target.tagName !== 'CANVAS') return;
      event.preventDefault();
      zoom(camera, event, Math.exp(-event.deltaY / 400));
      paint();
    }, { passive: false });
    place.addEventListener('pointerdown', (event) => { from = [event.clientX + camera.x, event.clientY + camera.y]; });
    place.addEventListener('pointermove', (event) => {
      if (!from || !event.buttons) return;
      camera.x = from[0] - event.clientX;
      camera.y = from[1] - event.clientY;
      paint();
    });
    place.addEventListener('pointerup', () => { from = null; });
    place.addEventListener('dblclick', () => {
      Object.assign(camera, { zoom: 1, x: 0, y: 0 });
      paint();
    });
  };
  return camera;
}

function zoom(camera, event, factor) {
  const next = Math.max(1, Math.min(MAX_ZOOM, camera.zoom * factor));
  const real = next / camera.zoom;
  camera.x = (camera.x + event.offsetX) * real - event.offsetX;
  camera.y = (camera.y + event.offsetY) * real - event.offsetY;
  camera.zoom = next;
  if (next === 1) Object.assign(camera, { x: 0, y: 0 });
}

/** Names and groups of the nodes of both runs, and the share of the fullest resource in each; computed once. */
function unionOf(maps) {
  if (maps.union) return maps.union;
  const names = [];
  const zones = [];
  const shares = {};
  for (const which of ['before', 'after']) {
    const { nodes } = maps[which];
    const { length } = nodes.name;
    const zone = nodes.labels[ZONE];
    const index = zone && expandColumn(zone.index, length);
    shares[which] = sharesByName(maps[which]);
    nodes.name.forEach((name, slot) => {
      if (!name || (which === 'after' && shares.before.has(name))) return;
      names.push(name);
      zones.push(zone ? zone.values[index[slot]] || '(none)' : '');
    });
  }
  maps.union = { names, zones, shares };
  return maps.union;
}

/** Paints one run (`before`, `after`) or the `difference`. */
export function paintRun(canvas, maps, kind, camera) {
  const { names, zones, shares } = unionOf(maps);
  const width = canvas.parentElement.clientWidth;
  if (!width) return;
  const scale = globalThis.devicePixelRatio || 1;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(HEIGHT_PIXELS * scale);
  canvas.style.setProperty('height', `${HEIGHT_PIXELS}px`);
  const layout = layOut(groupSlots(names.map((_, i) => i), names, (i) => zones[i], null), width, HEIGHT_PIXELS, scale);
  const tokens = themeTokens();
  const ctx = canvas.getContext('2d', { alpha: false });
  ctx.setTransform(scale, 0, 0, scale, 0, 0);
  ctx.fillStyle = tokens.ground;
  ctx.fillRect(0, 0, width, HEIGHT_PIXELS);
  const size = layout.pitch * camera.zoom;
  const inner = size - (size < 4 ? 0 : size < 24 ? 1 : 3);
  const palette = kind === 'difference' ? diverging(tokens.dark) : ramp(tokens.dark);
  names.forEach((name, i) => {
    const x = layout.cellX[i] * size + layout.offsetX[i] * camera.zoom - camera.x;
    const y = layout.cellY[i] * size + layout.offsetY[i] * camera.zoom - camera.y;
    if (x > width || y > HEIGHT_PIXELS || x < -size || y < -size) return;
    paintCell(ctx, { x, y, inner, tokens, palette }, kind, shares.before.get(name), shares.after.get(name));
    if (inner >= NAMED_FROM_PIXELS) paintName(ctx, name, x, y, inner, tokens);
  });
  ctx.fillStyle = tokens.text;
  ctx.font = `600 13px ${tokens.font}`;
  for (const column of layout.columns) if (column.name) ctx.fillText(column.name, column.cellX * size + column.offsetX * camera.zoom - camera.x, 20 - camera.y);
}

/** The name of a node on the background of a card. */
function paintName(ctx, name, x, y, inner, tokens) {
  ctx.font = `11.5px ${tokens.font}`;
  const text = cutText(ctx, name, inner - 20);
  ctx.fillStyle = tokens.card;
  ctx.fillRect(x + 6, y + 6, ctx.measureText(text).width + 8, 18);
  ctx.fillStyle = tokens.text;
  ctx.fillText(text, x + 10, y + 19);
}

function paintCell(ctx, { x, y, inner, tokens, palette }, kind, before, after) {
  if (kind === 'difference') {
    ctx.fillStyle = palette[rampStep((Math.max(-1, Math.min(1, 2 * ((after ?? 0) - (before ?? 0)))) + 1) / 2)];
    ctx.fillRect(x, y, inner, inner);
  } else {
    const share = kind === 'before' ? before : after;
    if (share === undefined) {
      ctx.strokeStyle = tokens.line;
      ctx.strokeRect(x + 0.5, y + 0.5, inner - 1, inner - 1);
      return;
    }
    ctx.fillStyle = tokens.track;
    ctx.fillRect(x, y, inner, inner);
    ctx.fillStyle = palette[rampStep(share)];
    ctx.fillRect(x, y + inner * (1 - share), inner, inner * share);
  }
}
