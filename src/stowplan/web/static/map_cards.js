// Cards of the map: a node's name, bars with figures, and its pods as blocks by workload.
import { podColour } from './colouring.js';
import { rampStep } from './colours.js';
import { amountOf, commonPrefix, resourceName, shortNodeName, shortWorkload } from './format.js';
import { cutText } from './map_labels.js';
import { podShare, podsOfNode } from './pods.js';
import { labelOf, share, store } from './store.js';

const LABELLED_CARDS_FROM = 104;

/** The resources that have a column in a cell: cpu, memory, and what few nodes offer where they offer it. */
export function shownResources(slot) {
  const { resources, allocatable } = store.nodes;
  const offered = resources.filter((name) => name !== 'pods' && (allocatable[name]?.[slot] || 0) > 0);
  return offered.filter((name) => name === 'cpu' || name === 'memory' || name.includes('/')).slice(0, 4);
}

export function paintCards(view) {
  const { ctx, visible, tokens, xs, ys, inner, layout } = view;
  for (const slot of visible) {
    const lit = !view.dimmed || view.dimmed.has(slot);
    ctx.globalAlpha = lit ? 1 : 0.25;
    ctx.fillStyle = tokens.card;
    ctx.strokeStyle = tokens.line;
    ctx.lineWidth = 1;
    ctx.beginPath();
    ctx.roundRect(xs[slot] + 0.5, ys[slot] + 0.5, inner - 1, inner - 1, Math.min(8, inner / 16));
    ctx.fill();
    ctx.stroke();
    if (!view.colouring.level) {
      ctx.fillStyle = view.colouring.palette[view.colouring.bucket[slot]];
      ctx.fillRect(xs[slot] + 1, ys[slot] + inner / 4, 3, inner / 2);
    }
    paintCard(view, slot, layout.blocks[layout.blockOf[slot]]);
  }
  ctx.globalAlpha = 1;
}

function paintCard(view, slot, block) {
  const { ctx, tokens, xs, ys, inner } = view;
  const labelled = view.size >= LABELLED_CARDS_FROM;
  const pad = labelled ? 14 : 6;
  const x = xs[slot] + pad;
  const width = inner - 2 * pad;
  let y = ys[slot] + pad;
  ctx.textBaseline = 'top';
  ctx.textAlign = 'left';
  ctx.fillStyle = tokens.text;
  ctx.font = `600 ${labelled ? 11.5 : 9}px ${tokens.font}`;
  ctx.fillText(cutText(ctx, cardName(view, slot, block), width), x, y);
  y += labelled ? 17 : 12;
  for (const resource of shownResources(slot)) {
    paintBar(view, slot, resource, x, y, width, labelled && view.size > 150);
    y += labelled ? 13 : 6;
  }
  const bottom = ys[slot] + inner - pad;
  if (bottom - y - 4 > 12) paintPods(view, slot, x, y + 4, width, bottom - y - 4);
}

/** The node's name without the value of the first grouping label, or without the start that its block shares. */
function cardName(view, slot, block) {
  const name = store.nodes.names[slot];
  const value = labelOf(view.groups[0], slot);
  if (value && name.startsWith(`${value}-`)) return name.slice(value.length + 1);
  block.prefix ??= commonPrefix(block.slots.map((member) => store.nodes.names[member]));
  return name.length - block.prefix.length >= 4 ? shortNodeName(name, block.prefix) : name;
}

function paintBar(view, slot, resource, x, y, width, figures) {
  const { ctx, tokens } = view;
  const { requested, allocatable } = store.nodes;
  const used = share(resource, slot);
  let from = x;
  let room = width;
  if (figures) {
    const label = resource === 'memory' ? 'mem' : resourceName(resource);
    const text = amountOf(resource, requested[resource][slot], allocatable[resource][slot]);
    ctx.font = `10.5px ${tokens.font}`;
    ctx.fillStyle = tokens.quiet;
    ctx.fillText(label, x, y - 3);
    ctx.textAlign = 'right';
    ctx.fillText(text, x + width, y - 3);
    ctx.textAlign = 'left';
    from = x + 30;
    room = Math.max(10, width - 30 - Math.max(58, ctx.measureText(text).width) - 8);
  }
  ctx.fillStyle = tokens.track;
  bar(ctx, from, y, room, 4);
  ctx.fillStyle = view.ramp[Math.max(6, rampStep(used))];
  if (used > 0) bar(ctx, from, y, Math.max(2, room * used), 4);
}

function bar(ctx, x, y, width, height) {
  ctx.beginPath();
  ctx.roundRect(x, y, width, height, 2);
  ctx.fill();
}

/** Pods as blocks in rows: the area is the share of the node that the pod requests. */
function paintPods(view, slot, x, y, width, height) {
  const { ctx, tokens } = view;
  for (const block of podBlocks(slot, width, height)) {
    ctx.fillStyle = podColour(block.pod);
    ctx.fillRect(x + block.x, y + block.y, Math.max(1, block.width - 1), Math.max(1, block.height - 1));
    if (block.width > 34 && block.height > 12) {
      const workload = shortWorkload(store.pods.workloads[store.pods.workload[block.pod]]);
      const name = workload.slice(workload.indexOf('/') + 1) || 'pod';
      ctx.font = `10.5px ${tokens.font}`;
      ctx.fillStyle = '#10151b';
      ctx.textBaseline = 'middle';
      ctx.fillText(cutText(ctx, name, block.width - 10), x + block.x + 5, y + block.y + block.height / 2);
      ctx.textBaseline = 'top';
    }
  }
}

/** Rectangles of a node's pods in `width` × `height`: rows of pods whose blocks are about as wide as high. */
export function podBlocks(slot, width, height) {
  const pods = podsOfNode(slot);
  const whole = Math.max(1, pods.reduce((sum, pod) => sum + podShare(pod, slot), 0));
  const area = (pod) => Math.max(width * height * 0.004, (podShare(pod, slot) / whole) * width * height);
  const blocks = [];
  let y = 0;
  for (let start = 0; start < pods.length && y < height;) {
    let end = start;
    let sum = 0;
    do {
      sum += area(pods[end]);
      end += 1;
    } while (end < pods.length && sum / width < Math.sqrt(area(pods[start])) * 0.7);
    const rowHeight = Math.min(sum / width, height - y);
    let x = 0;
    for (let i = start; i < end; i += 1) {
      const blockWidth = (area(pods[i]) / sum) * width;
      blocks.push({ pod: pods[i], x, y, width: blockWidth, height: rowHeight });
      x += blockWidth;
    }
    y += rowHeight;
    start = end;
  }
  return blocks;
}
