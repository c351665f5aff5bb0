// The layout of the map: groups of the first label side by side, groups of the second below each other, a cell a node.
// A place has two parts: cells, which zoom, and pixels of headings and gaps, which do not.
import { naturalOrder } from './format.js';
import { MAX_CELLS } from './map_tiles.js';

export const HEADING_PIXELS = 38;
export const BLOCK_HEADING_PIXELS = 20;
const COLUMN_GAP_PIXELS = 24;
const BLOCK_GAP_PIXELS = 10;
const MAX_EXTRA_GAP_PIXELS = 26;
const MIN_COLUMN_PIXELS = 104;
const MIN_PITCH_PIXELS = 3;
const MIN_TILED_PITCH_PIXELS = 1; // of maps with more cells than are painted by themselves
const MAX_PITCH_PIXELS = 240;
const SCROLLED_PITCH_PIXELS = 12; // where headings alone are higher than the view
const MARGIN_PIXELS = 18;
const MIN_BLOCK_PIXELS = 92;

/**
 * Groups slots: `[{name, slots, blocks: [{name, slots}]}]`, each in the natural order of names. `first` and `second` are
 * functions from slot to group name, or null.
 */
export function groupSlots(slots, names, first, second) {
  const rank = ranksOf(names);
  const ordered = [...slots].sort((a, b) => rank[a] - rank[b]);
  const columns = split(ordered, first).map(({ name, slots: members }) => (
    { name, slots: members, blocks: split(members, second) }
  ));
  if (second) alignBlocks(columns);
  return columns;
}

const ranks = new WeakMap();

/** The ranks of names in natural order; kept, since comparing the names of 5,000 nodes takes 50 ms. */
function ranksOf(names) {
  if (!ranks.has(names)) {
    const rank = new Uint32Array(names.length);
    names.map((_, slot) => slot).sort((a, b) => naturalOrder(names[a], names[b])).forEach((slot, i) => { rank[slot] = i; });
    ranks.set(names, rank);
  }
  return ranks.get(names);
}

function split(slots, of) {
  const groups = new Map();
  for (const slot of slots) {
    const name = of ? of(slot) : '';
    if (!groups.has(name)) groups.set(name, []);
    groups.get(name).push(slot);
  }
  return [...groups].map(([name, members]) => ({ name, slots: members })).sort((a, b) => naturalOrder(a.name, b.name));
}

/** The largest blocks come first, in the same order in every column. */
function alignBlocks(columns) {
  const sizes = new Map();
  for (const column of columns) {
    for (const block of column.blocks) sizes.set(block.name, (sizes.get(block.name) || 0) + block.slots.length);
  }
  for (const column of columns) {
    column.blocks.sort((a, b) => sizes.get(b.name) - sizes.get(a.name) || naturalOrder(a.name, b.name));
  }
}

/** Places the groups in `width` × `height` pixels; `scale` is the number of device pixels in a pixel. */
export function layOut(columns, width, height, scale) {
  const inner = { width: width - 2 * MARGIN_PIXELS, height: height - MARGIN_PIXELS };
  const shelves = shelve(columns, Math.max(1, Math.floor(inner.width / MIN_COLUMN_PIXELS)));
  const nodes = columns.reduce((sum, column) => sum + column.slots.length, 0);
  const least = Math.ceil((nodes > MAX_CELLS ? MIN_TILED_PITCH_PIXELS : MIN_PITCH_PIXELS) * scale);
  let low = least;
  let high = Math.floor(MAX_PITCH_PIXELS * scale);
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (fits(shelves, middle / scale, inner)) low = middle;
    else high = middle - 1;
  }
  const tooMany = low === least && !fits(shelves, low / scale, inner);
  return place(shelves, tooMany ? Math.ceil(SCROLLED_PITCH_PIXELS * scale) / scale : low / scale, inner);
}

/** Distributes columns over shelves, so that each shelf has at most `most` columns and about as many nodes. */
function shelve(columns, most) {
  const number = Math.max(1, Math.ceil(columns.length / most));
  const size = Math.ceil(columns.length / number);
  const shelves = [];
  for (let start = 0; start < columns.length; start += size) shelves.push(columns.slice(start, start + size));
  return shelves;
}

function fits(shelves, pitch, inner) {
  let height = 0;
  for (const shelf of shelves) {
    const widths = columnWidths(shelf, pitch, inner.width);
    if (!widths) return false;
    height += Math.max(...shelf.map((column, i) => columnHeight(column, widths[i], pitch)));
  }
  return height <= inner.height;
}

/** Widths of columns in cells, handed out one by one, always to the tallest column; null if there are too few. */
function columnWidths(shelf, pitch, width) {
  const cells = Math.floor((width - COLUMN_GAP_PIXELS * (shelf.length - 1)) / pitch);
  const least = shelf.length === 1 ? 1 : Math.min(Math.floor(cells / shelf.length), Math.ceil(64 / pitch));
  if (least < 1 || cells < shelf.length) return null;
  const widths = shelf.map(() => least);
  const heights = shelf.map((column, i) => columnHeight(column, widths[i], pitch));
  for (let left = cells - least * shelf.length; left > 0; left -= 1) {
    let tallest = 0;
    for (let i = 1; i < heights.length; i += 1) if (heights[i] > heights[tallest]) tallest = i;
    widths[tallest] += 1;
    heights[tallest] = columnHeight(shelf[tallest], widths[tallest], pitch);
  }
  return widths;
}

/** Blocks in lines: a block of less than half a row shares its line with its neighbours. */
function linesOf(column, width, pitch) {
  const lines = [];
  const gap = Math.max(1, Math.ceil(12 / pitch));
  let open = null;
  for (const block of column.blocks) {
    const cells = Math.max(block.slots.length, Math.ceil(MIN_BLOCK_PIXELS / pitch));
    if (cells * 2 + gap > width) {
      lines.push({ rows: Math.ceil(block.slots.length / width), parts: [{ block, at: 0, width }] });
      open = null;
    } else if (open && open.used + gap + cells <= width) {
      open.parts.push({ block, at: open.used + gap, width: cells });
      open.used += gap + cells;
    } else {
      open = { rows: 1, parts: [{ block, at: 0, width: cells }], used: cells };
      lines.push(open);
    }
  }
  return lines;
}

function headingOf(column) {
  return column.name || column.blocks.some((block) => block.name) ? HEADING_PIXELS : 10;
}

function blockHeading(block) {
  return block.name ? BLOCK_HEADING_PIXELS : 2;
}

function columnHeight(column, width, pitch) {
  let height = headingOf(column) - BLOCK_HEADING_PIXELS / 2;
  for (const line of linesOf(column, width, pitch)) {
    height += blockHeading(line.parts[0].block) + line.rows * pitch + BLOCK_GAP_PIXELS;
  }
  return height;
}

function place(shelves, pitch, inner) {
  const size = Math.max(0, ...shelves.flat().map((column) => Math.max(-1, ...column.slots) + 1));
  const layout = {
    pitch, columns: [], blocks: [], cellX: new Float32Array(size), cellY: new Float32Array(size),
    offsetX: new Float32Array(size), offsetY: new Float32Array(size), blockOf: new Int32Array(size).fill(-1),
    cellsWide: 0, cellsHigh: 0, pixelsWide: 0, pixelsHigh: 0,
  };
  const widths = shelves.map((shelf) => columnWidths(shelf, pitch, inner.width) || shelf.map(() => 1));
  const heights = shelves.map((shelf, s) => Math.max(...shelf.map((c, i) => columnHeight(c, widths[s][i], pitch))));
  const spare = Math.max(0, inner.height - heights.reduce((sum, height) => sum + height, 0));
  let cellY = 0;
  let offsetY = 0;
  shelves.forEach((shelf, s) => {
    const lines = Math.max(...shelf.map((column, i) => linesOf(column, widths[s][i], pitch).length));
    const extra = Math.min(MAX_EXTRA_GAP_PIXELS, spare / shelves.length / Math.max(1, lines));
    let cellX = 0;
    const bottom = { cells: 0, pixels: 0 };
    shelf.forEach((column, i) => {
      const offsetX = MARGIN_PIXELS + i * COLUMN_GAP_PIXELS;
      const end = placeColumn(layout, column, { cellX, cellY, offsetX, offsetY, width: widths[s][i], extra });
      cellX += widths[s][i];
      if (end.cells * pitch + end.pixels > bottom.cells * pitch + bottom.pixels) Object.assign(bottom, end);
      layout.pixelsWide = Math.max(layout.pixelsWide, offsetX + MARGIN_PIXELS);
    });
    cellY = bottom.cells;
    offsetY = bottom.pixels;
    layout.cellsWide = Math.max(layout.cellsWide, cellX);
  });
  layout.cellsHigh = cellY;
  layout.pixelsHigh = offsetY;
  return layout;
}

function placeColumn(layout, column, at) {
  const index = layout.columns.length;
  layout.columns.push({
    name: column.name, nodes: column.slots.length, slots: column.slots, cellX: at.cellX, offsetX: at.offsetX,
    cellY: at.cellY, offsetY: at.offsetY, width: at.width, heading: headingOf(column),
  });
  let cells = at.cellY;
  let pixels = at.offsetY + headingOf(column) - BLOCK_HEADING_PIXELS / 2;
  for (const line of linesOf(column, at.width, layout.pitch)) {
    pixels += blockHeading(line.parts[0].block);
    for (const part of line.parts) {
      const block = {
        name: part.block.name, nodes: part.block.slots.length, slots: part.block.slots, width: part.width, column: index,
        cellX: at.cellX + part.at, cellY: cells, offsetX: at.offsetX, offsetY: pixels,
        rows: Math.ceil(part.block.slots.length / part.width),
      };
      placeBlock(layout, block);
    }
    cells += line.rows;
    pixels += BLOCK_GAP_PIXELS + at.extra;
  }
  const last = layout.columns[index];
  last.bottomCells = cells;
  last.bottomPixels = pixels;
  return { cells, pixels };
}

function placeBlock(layout, block) {
  const index = layout.blocks.length;
  layout.blocks.push(block);
  block.slots.forEach((slot, i) => {
    layout.cellX[slot] = block.cellX + (i % block.width);
    layout.cellY[slot] = block.cellY + Math.floor(i / block.width);
    layout.offsetX[slot] = block.offsetX;
    layout.offsetY[slot] = block.offsetY;
    layout.blockOf[slot] = index;
  });
}

/** The slot at a point of the world (pixels at cell size `size`), or -1. */
export function slotAt(layout, x, y, size) {
  for (const block of layout.blocks) {
    const column = Math.floor((x - block.offsetX) / size - block.cellX);
    const row = Math.floor((y - block.offsetY) / size - block.cellY);
    if (column >= 0 && column < block.width && row >= 0 && row < block.rows) {
      return block.slots[row * block.width + column] ?? -1;
    }
  }
  return -1;
}

/** The offset in pixels of the block nearest to a point: the point of the world that stays while zooming. */
export function offsetsNear(layout, x, y, size) {
  let best = { offsetX: 0, offsetY: 0 };
  let distance = Infinity;
  for (const block of layout.blocks) {
    const left = block.cellX * size + block.offsetX;
    const top = block.cellY * size + block.offsetY;
    const dx = Math.max(left - x, 0, x - left - block.width * size);
    const dy = Math.max(top - y, 0, y - top - block.rows * size);
    if (dx * dx + dy * dy < distance) {
      distance = dx * dx + dy * dy;
      best = block;
    }
  }
  return best;
}

/** The slot next to one in a direction (-1, 0, 1 each): within the block, else the nearest cell on that side. */
export function neighbour(layout, slot, dx, dy, size) {
  const x = (layout.cellX[slot] + 0.5) * size + layout.offsetX[slot];
  const y = (layout.cellY[slot] + 0.5) * size + layout.offsetY[slot];
  const beside = slotAt(layout, x + dx * size, y + dy * size, size);
  if (beside >= 0) return beside;
  let best = -1;
  let distance = Infinity;
  for (const block of layout.blocks) {
    for (const other of block.slots) {
      const ox = (layout.cellX[other] + 0.5) * size + layout.offsetX[other] - x;
      const oy = (layout.cellY[other] + 0.5) * size + layout.offsetY[other] - y;
      const along = ox * dx + oy * dy;
      if (along < size * 0.5) continue;
      const across = Math.abs(ox * dy) + Math.abs(oy * dx);
      if (along + across * 3 < distance) {
        distance = along + across * 3;
        best = other;
      }
    }
  }
  return best;
}
