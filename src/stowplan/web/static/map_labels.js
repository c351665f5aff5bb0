// Labels of the map: headings of columns and blocks, which stick to the top and left edge.
import { count, percent } from './format.js';
import { store } from './store.js';

export function paintLabels(view) {
  const { ctx, layout, size } = view;
  ctx.textBaseline = 'alphabetic';
  ctx.textAlign = 'left';
  for (const block of layout.blocks) if (block.name) paintBlockLabel(view, block, layout.columns[block.column]);
  for (const column of layout.columns) {
    if (!column.name) continue;
    const left = column.cellX * size + column.offsetX - view.x;
    const right = left + column.width * size;
    const top = column.cellY * size + column.offsetY - view.y;
    const bottom = column.bottomCells * size + column.bottomPixels - view.y;
    const y = Math.max(top + 20, Math.min(20, bottom - 30));
    if (right < 60 || left > view.width || bottom < 0 || y > view.height + 20) continue;
    const room = Math.min(right, view.width) - Math.max(left, 18);
    const [used, whole] = (column.sums ??= sumsOf(column.slots));
    const detail = `${count(column.nodes)} node${column.nodes === 1 ? '' : 's'} · cpu ${percent(used, whole)} %`;
    plate(view, column.name, detail, Math.max(left, 18), y, room, 13, top + 20 < 20);
  }
}

function sumsOf(slots) {
  let used = 0;
  let whole = 0;
  for (const slot of slots) {
    used += store.nodes.requested.cpu?.[slot] || 0;
    whole += store.nodes.allocatable.cpu?.[slot] || 0;
  }
  return [used, whole];
}

function paintBlockLabel(view, block, column) {
  const { size } = view;
  const left = block.cellX * size + block.offsetX - view.x;
  const right = left + block.width * size;
  const top = block.cellY * size + block.offsetY - view.y;
  const bottom = top + block.rows * size;
  const sticky = column.name ? 42 : 20;
  const y = Math.max(top - 6, Math.min(sticky, bottom - 8));
  if (right < 60 || left > view.width || bottom < 8 || y > view.height + 14) return;
  const room = Math.min(right, view.width) - Math.max(left, 18);
  plate(view, block.name, count(block.nodes), Math.max(left, 18), y, Math.max(room, 84), 12, top - 6 < sticky, 500);
}

/** A heading with details in a quiet colour, on a plate where cells are below it. */
function plate(view, name, detail, x, y, room, pixels, plated, weight = 700) {
  const { ctx, tokens } = view;
  const bold = `${weight} ${pixels}px ${tokens.font}`;
  const plain = `${pixels - 1}px ${tokens.font}`;
  ctx.font = bold;
  const shown = cutText(ctx, name, room);
  const width = ctx.measureText(shown).width;
  ctx.font = plain;
  const more = width + 10 + ctx.measureText(detail).width <= room ? detail : '';
  if (plated) {
    ctx.globalAlpha = 0.88;
    ctx.fillStyle = tokens.ground;
    ctx.fillRect(x - 4, y - 14, width + (more ? 10 + ctx.measureText(more).width : 0) + 8, 19);
    ctx.globalAlpha = 1;
  }
  if (more) {
    ctx.fillStyle = tokens.quiet;
    ctx.fillText(more, x + width + 8, y);
  }
  ctx.font = bold;
  ctx.fillStyle = tokens.text;
  ctx.fillText(shown, x, y);
}

/** The text, shortened to a width; starts from the share of the text that would have room. */
export function cutText(ctx, text, width) {
  const whole = ctx.measureText(text).width;
  if (whole <= width) return text;
  const cut = (end) => `${text.slice(0, end)}…`;
  let end = Math.max(1, Math.min(text.length - 1, Math.floor((text.length * width) / whole)));
  while (end > 1 && ctx.measureText(cut(end)).width > width) end -= 1;
  while (end < text.length - 1 && ctx.measureText(cut(end + 1)).width <= width) end += 1;
  return cut(end);
}

export function textWidth(ctx, font, text) {
  ctx.font = font;
  return ctx.measureText(text).width;
}
