// Tiles of the map: where there are more cells than can be told apart, a square of cells is painted as their mean.
import { rampStep } from './colours.js';

export const MAX_CELLS = 15000;
const MIN_TILE_PIXELS = 3;

/** The number of cells along the side of a tile; 1 if every cell is painted by itself. */
export function tileSide(cells, size) {
  const side = Math.ceil(Math.sqrt(cells / MAX_CELLS));
  return Math.max(1, side, size < MIN_TILE_PIXELS ? Math.ceil(MIN_TILE_PIXELS / size) : 1);
}

/** The tiles of a layout: `{slots, width, height}` in cells, the first slot is at the top left. Kept with the layout. */
function tilesOf(layout, side) {
  if (layout.tiles?.side === side) return layout.tiles.list;
  const list = [];
  for (const { slots, width, rows } of layout.blocks) {
    for (let top = 0; top < rows; top += side) {
      for (let left = 0; left < width && top * width + left < slots.length; left += side) {
        const members = [];
        for (let row = top; row < Math.min(top + side, rows); row += 1) {
          members.push(...slots.slice(row * width + left, row * width + Math.min(left + side, width)));
        }
        list.push({ slots: members, width: Math.min(side, width - left), height: Math.ceil(members.length / Math.min(side, width - left)) });
      }
    }
  }
  layout.tiles = { side, list };
  return list;
}

/** Paints tiles in place of cells: the mean of levels, or the most frequent colour. */
export function paintTiles(view) {
  const { ctx, xs, ys, size, scale, colouring } = view;
  for (const tile of tilesOf(view.layout, view.side)) {
    const [first] = tile.slots;
    const width = Math.round(tile.width * size * scale) / scale - view.gap;
    const height = Math.round(tile.height * size * scale) / scale - view.gap;
    if (xs[first] > view.width || ys[first] > view.height || xs[first] + width < 0 || ys[first] + height < 0) continue;
    ctx.globalAlpha = view.dimmed && !tile.slots.some((slot) => view.dimmed.has(slot)) ? 0.18 : 1;
    ctx.fillStyle = colouring.palette[tileBucket(tile.slots, colouring)];
    ctx.fillRect(xs[first], ys[first], width, height);
  }
  ctx.globalAlpha = 1;
}

function tileBucket(slots, { level, bucket }) {
  if (level) return rampStep(slots.reduce((sum, slot) => sum + level[slot], 0) / slots.length);
  const counts = new Map();
  let best = bucket[slots[0]];
  for (const slot of slots) {
    counts.set(bucket[slot], (counts.get(bucket[slot]) || 0) + 1);
    if (counts.get(bucket[slot]) > counts.get(best)) best = bucket[slot];
  }
  return best;
}
