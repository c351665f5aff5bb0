// Painting of the map: cells by level of detail, marks of flags, rings.
import { rampStep } from './colours.js';
import { MAX_COLUMNS, paintCards, shownResources } from './map_cards.js';
import { paintLabels } from './map_labels.js';
import { paintTiles } from './map_tiles.js';
import { CORDONED, NOT_READY, share, store } from './store.js';

export const ONE_COLOUR_BELOW = 6;
export const COLUMNS_FROM = 24;
export const CARDS_FROM = 58;

/** Paints everything. `view` has ctx, size, scale, width, height, xs, ys, visible, colouring, tokens, layout, dimmed, side. */
export function paintMap(view) {
  const { ctx, tokens, scale } = view;
  ctx.setTransform(scale, 0, 0, scale, 0, 0);
  ctx.fillStyle = tokens.ground;
  ctx.fillRect(0, 0, view.width, view.height);
  const pitch = view.size * view.side;
  view.gap = pitch < 4 ? 0 : pitch < COLUMNS_FROM ? 1 : Math.min(6, Math.round(view.size / 11));
  view.inner = view.size - view.gap;
  if (view.side > 1) paintTiles(view);
  else if (view.size >= CARDS_FROM) paintCards(view);
  else if (view.size >= COLUMNS_FROM && view.colouring.level) paintColumns(view);
  else paintCells(view);
  paintFlags(view);
  paintRings(view);
  paintLabels(view);
}

/** Fills rectangles colour by colour: setting a colour costs more than filling. `fillCell(slot)` fills the cell's. */
function fillBuckets(view, slots, bucketOf, palette, fillCell) {
  const { ctx } = view;
  const buckets = new Map();
  for (const slot of slots) {
    const key = bucketOf(slot) + (view.dimmed && !view.dimmed.has(slot) ? 1000 : 0);
    const list = buckets.get(key);
    if (list) list.push(slot);
    else buckets.set(key, [slot]);
  }
  for (const [key, members] of buckets) {
    ctx.globalAlpha = key >= 1000 ? 0.18 : 1;
    ctx.fillStyle = palette[key % 1000];
    for (const slot of members) fillCell(slot);
  }
  ctx.globalAlpha = 1;
}

function paintCells(view) {
  const { ctx, xs, ys, inner, visible, colouring, scale } = view;
  const whole = (slot) => ctx.fillRect(xs[slot], ys[slot], inner, inner);
  if (!colouring.level || view.size < ONE_COLOUR_BELOW) {
    fillBuckets(view, visible, (slot) => colouring.bucket[slot], colouring.palette, whole);
    return;
  }
  fillBuckets(view, visible, () => 0, [view.tokens.track], whole);
  fillBuckets(view, visible, (slot) => colouring.bucket[slot], colouring.palette, (slot) => {
    const height = Math.round(colouring.level[slot] * inner * scale) / scale;
    if (height > 0) ctx.fillRect(xs[slot], ys[slot] + inner - height, inner, height);
  });
}

function paintColumns(view) {
  const { ctx, xs, ys, inner, visible, scale } = view;
  fillBuckets(view, visible, () => 0, [view.tokens.track], (slot) => ctx.fillRect(xs[slot], ys[slot], inner, inner));
  const resources = new Map(visible.map((slot) => [slot, shownResources(slot)]));
  for (let column = 0; column < MAX_COLUMNS; column += 1) {
    const slots = visible.filter((slot) => resources.get(slot).length > column);
    const shareOf = (slot) => share(resources.get(slot)[column], slot);
    fillBuckets(view, slots, (slot) => rampStep(shareOf(slot)), view.ramp, (slot) => {
      const number = resources.get(slot).length;
      const width = Math.floor((inner / number) * scale) / scale;
      const height = Math.round(shareOf(slot) * inner * scale) / scale;
      const last = column === number - 1 ? inner - width * column : width - 1 / scale;
      ctx.fillRect(xs[slot] + column * width, ys[slot] + inner - height, last, height);
    });
  }
}

function paintFlags(view) {
  const { ctx, tokens, xs, ys, inner, visible } = view;
  const { flags } = store.nodes;
  for (const slot of visible) {
    if (flags[slot] & NOT_READY) {
      if (view.size < CARDS_FROM) {
        ctx.fillStyle = tokens.alarm;
        ctx.fillRect(xs[slot], ys[slot], inner, inner);
      }
      paintCross(view, xs[slot], ys[slot]);
    } else if (flags[slot] & CORDONED) {
      paintCordoned(view, xs[slot], ys[slot]);
    }
  }
}

function paintCross(view, x, y) {
  const { ctx, inner, tokens } = view;
  const card = view.size >= CARDS_FROM;
  const arm = card ? 10 : inner;
  const left = card ? x + inner - arm - 8 : x;
  const top = card ? y + 8 : y;
  const edge = card ? 1 : inner * 0.28;
  ctx.strokeStyle = card ? tokens.alarm : tokens.card;
  ctx.lineWidth = card ? 2 : Math.max(1, inner / 9);
  ctx.beginPath();
  ctx.moveTo(left + edge, top + edge);
  ctx.lineTo(left + arm - edge, top + arm - edge);
  ctx.moveTo(left + arm - edge, top + edge);
  ctx.lineTo(left + edge, top + arm - edge);
  ctx.stroke();
}

/** Cordoned: hollow where cells are small, hatched where there is room. */
function paintCordoned(view, x, y) {
  const { ctx, tokens, inner, size } = view;
  if (size < COLUMNS_FROM) {
    const edge = Math.max(1, Math.round(inner * 0.25));
    ctx.fillStyle = tokens.ground;
    ctx.fillRect(x + edge, y + edge, inner - 2 * edge, inner - 2 * edge);
    return;
  }
  ctx.save();
  ctx.beginPath();
  ctx.rect(x, y, inner, inner);
  ctx.clip();
  ctx.strokeStyle = size >= CARDS_FROM ? tokens.hatch : tokens.ground;
  ctx.lineWidth = 2;
  ctx.beginPath();
  for (let at = -inner; at < inner; at += 6) {
    ctx.moveTo(x + at, y + inner);
    ctx.lineTo(x + at + inner, y);
  }
  ctx.stroke();
  ctx.restore();
}

/** Rings: hover and cursor once, winner twice, runner-up once, near misses and search hits once. */
function paintRings(view) {
  const { ctx, tokens, xs, ys, inner, rings } = view;
  for (const { slot, kind } of rings) {
    if (!view.shown[slot]) continue;
    const around = kind === 'winner' ? [1, 4] : [1];
    for (const edge of around) {
      ctx.lineWidth = 4;
      ctx.strokeStyle = tokens.ground;
      ctx.strokeRect(xs[slot] - edge, ys[slot] - edge, inner + 2 * edge, inner + 2 * edge);
      ctx.lineWidth = 2;
      ctx.strokeStyle = kind === 'flash' ? tokens.accent : tokens.text;
      ctx.strokeRect(xs[slot] - edge, ys[slot] - edge, inner + 2 * edge, inner + 2 * edge);
    }
  }
}
