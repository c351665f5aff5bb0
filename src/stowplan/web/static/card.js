// The card of a node beside the pointer or the keyboard's cursor, and its words for screen readers.
import { byId, el, replaceChildren } from './dom.js';
import { amount, percent, resourceName, shortWorkload } from './format.js';
import { rampStep } from './colours.js';
import { map } from './map.js';
import { podBlocks } from './map_cards.js';
import { CORDONED, JOINED, NOT_READY, PRESSURE, labelOf, share, store } from './store.js';

const FLAG_WORDS = [[CORDONED, 'cordoned'], [NOT_READY, 'not ready'], [PRESSURE, 'under pressure'], [JOINED, 'just joined']];

/** Words for a node's flags: `cordoned, not ready`. */
export function flagWords(flags) {
  return FLAG_WORDS.filter(([flag]) => flags & flag).map(([, word]) => word).join(', ');
}

function cardResources(slot) {
  const { resources, allocatable } = store.nodes;
  return resources.filter((name) => (allocatable[name]?.[slot] || 0) > 0).slice(0, 6);
}

/** Shows the card of a slot near a point of the map; hides it for slot -1. */
export function showCard(slot, x, y) {
  const card = byId('card');
  if (slot < 0) {
    card.hidden = true;
    return;
  }
  replaceChildren(card, heading(slot), bars(slot), podUnder(slot, x, y), words(slot));
  card.hidden = false;
  const box = card.getBoundingClientRect();
  const left = x + 18 + box.width > map.width ? Math.max(8, x - 18 - box.width) : x + 18;
  const top = y + 14 + box.height > map.height ? Math.max(8, map.height - box.height - 8) : y + 14;
  card.style.setProperty('transform', `translate(${Math.round(left)}px, ${Math.round(top)}px)`);
}

function heading(slot) {
  const place = map.groups.filter(Boolean).map((key) => labelOf(key, slot)).filter(Boolean).join(' · ');
  const state = flagWords(store.nodes.flags[slot]);
  const taints = store.nodes.taints.values[store.nodes.taints.index[slot]];
  return el('div', { class: 'card-head' },
    el('strong', {}, store.nodes.names[slot]),
    el('span', {}, [place, state].filter(Boolean).join(' · ')),
    taints && el('span', { class: 'card-taints' }, `taints: ${taints.replaceAll(',', ', ')}`));
}

function bars(slot) {
  const { requested, allocatable } = store.nodes;
  return el('div', { class: 'card-bars' }, cardResources(slot).map((resource) => {
    const used = share(resource, slot);
    return [
      el('span', {}, resourceName(resource)),
      el('span', { class: 'bar' }, el('i', {
        style: { width: `${used * 100}%`, background: map.ramp[Math.max(6, rampStep(used))] },
      })),
      el('span', { class: 'figure' },
        amount(resource, requested[resource][slot]), el('small', {}, ` / ${amount(resource, allocatable[resource][slot])}`)),
    ];
  }));
}

/** The pod below the pointer, where pods are drawn. */
function podUnder(slot, x, y) {
  const pod = podAt(slot, x, y);
  if (pod < 0) return null;
  const { pods } = store;
  const name = pods.names?.[pod] || shortWorkload(pods.workloads[pods.workload[pod]]);
  const parts = Object.entries(pods.requests).filter(([, column]) => column[pod] > 0)
    .map(([resource, column]) => `${amount(resource, column[pod])} ${resourceName(resource)}`);
  return el('div', { class: 'card-pod' }, el('strong', {}, name), ` ${parts.join(', ')}`);
}

/** The index of the pod whose block is at a point of a card, or -1. */
export function podAt(slot, x, y) {
  if (!store.pods || map.size < 58) return -1;
  const gap = Math.min(6, Math.round(map.size / 11));
  const inner = map.size - gap;
  const labelled = map.size >= 104;
  const pad = labelled ? 14 : 6;
  const [centreX, centreY] = map.centre(slot);
  const left = centreX - map.size / 2 + pad;
  const rows = store.nodes.resources.filter((name) => name !== 'pods' && store.nodes.allocatable[name]?.[slot] > 0
    && (name === 'cpu' || name === 'memory' || name.includes('/'))).slice(0, 4).length;
  const top = centreY - map.size / 2 + pad + (labelled ? 17 + 13 * rows : 12 + 6 * rows) + 4;
  const height = centreY - map.size / 2 + inner - pad - top;
  for (const block of podBlocks(slot, inner - 2 * pad, height)) {
    const inside = x >= left + block.x && x < left + block.x + block.width;
    if (inside && y >= top + block.y && y < top + block.y + block.height) return block.pod;
  }
  return -1;
}

function words(slot) {
  const text = map.colouring.words?.(slot);
  if (!text) return null;
  const [start, rest] = text.startsWith('Near miss: ') ? ['Near miss', text.slice(11)] : ['', text];
  return el('div', { class: start ? 'card-words near' : 'card-words' },
    start && el('strong', {}, start), start ? ` ${rest[0].toUpperCase()}${rest.slice(1)}` : rest);
}

/** "node-1, cpu 62 per cent, memory 40 per cent; lacks 0.5 cpu". */
export function spokenNode(slot) {
  const shares = cardResources(slot).map((resource) => {
    const [used, whole] = [store.nodes.requested[resource][slot], store.nodes.allocatable[resource][slot]];
    return `${resourceName(resource)} ${percent(used, whole)} per cent`;
  });
  const state = flagWords(store.nodes.flags[slot]);
  const text = map.colouring.words?.(slot);
  return `${[store.nodes.names[slot], ...shares, state].filter(Boolean).join(', ')}${text ? `; ${text}` : ''}`;
}
