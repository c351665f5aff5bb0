// Cards of the map: a node's name, bars with figures, and its pods as blocks by workload.
import { podColour } from './colouring.js';
import { rampStep } from './colours.js';
import { amountOf, commonPrefix, resourceName, shortNodeName, shortWorkload } from './format.js';
import { cutText, textWidth } from './map_labels.js';
import { podShare, podsOfNode } from './pods.js';
import { labelOf, share, store } from './store.js';

export const MAX_COLUMNS = 4;
const LABELLED_CARDS_FROM = 104;
const FIGURES_FROM = 150;
const DIMMED = 0.25;

/** The resources that have a column in a cell: cpu, memory, and what few nodes offer where they offer it. */
export function shownResources(slot) {
  const { resources, allocatable } = store.nodes;
  const shown = [];
  for (const name of resources) {
    if (shown.length === MAX_COLUMNS) break;
    if ((name === 'cpu' || name === 'memory' || name.includes('/')) && allocatable[name]?.[slot] > 0) shown.push(name);
  }
  return shown;
}

export function paintCards(view) {
  const lit = view.dimmed ? view.visible.filter((slot) => view.dimmed.has(slot)) : view.visible;
  paintCardSet(view, lit, 1);
  if (view.dimmed) paintCardSet(view, view.visible.filter((slot) => !view.dimmed.has(slot)), DIMMED);
  view.ctx.globalAlpha = 1;
}

/** Cards of equal opacity: plates first, then rectangles colour by colour, then texts font by font. */
function paintCardSet(view, slots, alpha) {
  const { ctx, tokens, xs, ys, inner, layout } = view;
  ctx.globalAlpha = alpha;
  ctx.fillStyle = tokens.card;
  ctx.strokeStyle = tokens.line;
  ctx.lineWidth = 1;
  const batch = { rects: new Map(), texts: new Map() };
  for (const slot of slots) {
    ctx.beginPath();
    ctx.roundRect(xs[slot] + 0.5, ys[slot] + 0.5, inner - 1, inner - 1, Math.min(8, inner / 16));
    ctx.fill();
    ctx.stroke();
    if (!view.colouring.level) {
      addRect(batch, view.colouring.palette[view.colouring.bucket[slot]], xs[slot] + 1, ys[slot] + inner / 4, 3, inner / 2);
    }
    addCard(view, batch, slot, layout.blocks[layout.blockOf[slot]]);
  }
  for (const [colour, rects] of batch.rects) {
    ctx.fillStyle = colour;
    for (let i = 0; i < rects.length; i += 4) ctx.fillRect(rects[i], rects[i + 1], rects[i + 2], rects[i + 3]);
  }
  paintTexts(ctx, batch.texts);
}

function addRect(batch, colour, x, y, width, height) {
  const rects = batch.rects.get(colour);
  if (rects) rects.push(x, y, width, height);
  else batch.rects.set(colour, [x, y, width, height]);
}

/** Adds a text to be drawn from its vertical middle; with `room` it is shortened. */
function addText(batch, font, colour, text, x, y, room = 0, align = 'left') {
  const key = `${font}|${colour}|${align}`;
  if (!batch.texts.has(key)) batch.texts.set(key, { font, colour, align, items: [] });
  batch.texts.get(key).items.push({ text, x, y, room });
}

function paintTexts(ctx, texts) {
  ctx.textBaseline = 'middle';
  for (const { font, colour, align, items } of texts.values()) {
    ctx.font = font;
    ctx.fillStyle = colour;
    ctx.textAlign = align;
    for (const { text, x, y, room } of items) ctx.fillText(room ? cutText(ctx, text, room) : text, x, y);
  }
  ctx.textAlign = 'left';
}

function addCard(view, batch, slot, block) {
  const { tokens, xs, ys, inner } = view;
  const labelled = view.size >= LABELLED_CARDS_FROM;
  const pad = labelled ? 14 : 6;
  const x = xs[slot] + pad;
  const width = inner - 2 * pad;
  let y = ys[slot] + pad;
  const pixels = labelled ? 11.5 : 9;
  addText(batch, `600 ${pixels}px ${tokens.font}`, tokens.text, cardName(view, slot, block), x, y + pixels / 2, width);
  y += labelled ? 17 : 12;
  for (const resource of shownResources(slot)) {
    addBar(view, batch, slot, resource, x, y, width);
    y += labelled ? 13 : 6;
  }
  const bottom = ys[slot] + inner - pad;
  if (bottom - y - 4 > 12) addPods(view, batch, slot, x, y + 4, width, bottom - y - 4);
}

/** The node's name without the value of the first grouping label, or without the start that its block shares. */
function cardName(view, slot, block) {
  const name = store.nodes.names[slot];
  const value = labelOf(view.groups[0], slot);
  if (value && name.startsWith(`${value}-`)) return name.slice(value.length + 1);
  block.prefix ??= commonPrefix(block.slots.map((member) => store.nodes.names[member]));
  return name.length - block.prefix.length >= 4 ? shortNodeName(name, block.prefix) : name;
}

function addBar(view, batch, slot, resource, x, y, width) {
  const { ctx, tokens } = view;
  const { requested, allocatable } = store.nodes;
  const used = share(resource, slot);
  let from = x;
  let room = width;
  if (view.size > FIGURES_FROM) {
    const text = amountOf(resource, requested[resource][slot], allocatable[resource][slot]);
    const font = `10.5px ${tokens.font}`;
    addText(batch, font, tokens.quiet, resource === 'memory' ? 'mem' : resourceName(resource), x, y + 2);
    addText(batch, font, tokens.quiet, text, x + width, y + 2, 0, 'right');
    from = x + 30;
    room = Math.max(10, width - 30 - Math.max(58, textWidth(ctx, font, text)) - 8);
  }
  addRect(batch, tokens.track, from, y, room, 4);
  if (used > 0) addRect(batch, view.ramp[Math.max(6, rampStep(used))], from, y, Math.max(2, room * used), 4);
}

/** Pods as blocks in rows: the area is the share of the node that the pod requests. */
function addPods(view, batch, slot, x, y, width, height) {
  for (const block of podBlocks(slot, width, height)) {
    addRect(batch, podColour(block.pod), x + block.x, y + block.y, Math.max(1, block.width - 1), Math.max(1, block.height - 1));
    if (block.width <= 34 || block.height <= 12) continue;
    const workload = shortWorkload(store.pods.workloads[store.pods.workload[block.pod]]);
    const name = workload.slice(workload.indexOf('/') + 1) || 'pod';
    const middle = y + block.y + block.height / 2;
    addText(batch, `10.5px ${view.tokens.font}`, '#10151b', name, x + block.x + 5, middle, block.width - 10);
  }
}

/**
 * Rectangles of a node's pods in `width` × `height`: rows of pods whose blocks are about as wide as high. Kept until the
 * size or the pods change, since panning draws the same cards in every frame.
 */
export function podBlocks(slot, width, height) {
  const pods = podsOfNode(slot);
  if (!pods.length) return [];
  const kept = store.pods.blocks.get(slot);
  if (kept?.width === width && kept.height === height) return kept.blocks;
  const shares = pods.map((pod) => podShare(pod, slot));
  const whole = Math.max(1, shares.reduce((sum, value) => sum + value, 0));
  const areas = shares.map((value) => Math.max(width * height * 0.004, (value / whole) * width * height));
  const blocks = [];
  let y = 0;
  for (let start = 0; start < pods.length && y < height;) {
    let end = start;
    let sum = 0;
    do {
      sum += areas[end];
      end += 1;
    } while (end < pods.length && sum / width < Math.sqrt(areas[start]) * 0.7);
    const rowHeight = Math.min(sum / width, height - y);
    let x = 0;
    for (let i = start; i < end; i += 1) {
      const blockWidth = (areas[i] / sum) * width;
      blocks.push({ pod: pods[i], x, y, width: blockWidth, height: rowHeight });
      x += blockWidth;
    }
    y += rowHeight;
    start = end;
  }
  store.pods.blocks.set(slot, { width, height, blocks });
  return blocks;
}
