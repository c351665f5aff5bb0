// The state of the page: columns of nodes, pending groups, queue, selection. Modules subscribe to its parts.

export const CORDONED = 1;
export const NOT_READY = 2;
export const PRESSURE = 4;
export const JOINED = 8;
const NO_NODE = 16;
const MAX_FEED_ITEMS = 200;

/** The one state. `part` names below are what `subscribe` and `publish` take. */
export const store = {
  hello: null, // part "hello"
  nodes: null, // part "nodes": columns, see `takeMap`
  pods: null, // part "pods": columns, loaded when cards are first shown
  pending: null, // part "pending": groups by sentence
  queue: null, // part "queue": counts and the newest sample
  history: null, // part "history": samples
  feed: [], // part "feed": the latest notable events, newest first
  run: null, // part "run": time, speed and state of a simulation
  connection: { state: 'loading', since: null }, // part "connection"
  colour: { by: 'fullest' }, // part "colour"
  pod: null, // part "pod": what is loaded of the selected pod: {key, explanation, fit, points}
  focus: null, // part "focus": slots that stay lit, or null for all
  rings: [], // part "rings": [{slot, kind}], cells that are ringed
};

const listeners = new Map();

export function subscribe(part, listener) {
  if (!listeners.has(part)) listeners.set(part, new Set());
  listeners.get(part).add(listener);
  return () => listeners.get(part).delete(listener);
}

export function publish(part, detail) {
  for (const listener of [...(listeners.get(part) || [])]) listener(detail);
}

/** A column as a list: constant columns come as `{"all": value}`. */
export function expandColumn(column, length) {
  if (Array.isArray(column)) return column;
  return new Array(length).fill(column && 'all' in column ? column.all : 0);
}

/** Columns of the answer `map`. */
export function takeMap(answer) {
  const { nodes } = answer;
  const length = nodes.name.length;
  store.nodes = {
    epoch: answer.epoch,
    revision: answer.revision,
    time: answer.time,
    resources: answer.resources,
    length,
    names: nodes.name,
    labels: Object.fromEntries(Object.entries(nodes.labels || {}).map(([key, column]) => [key, indexed(column, length)])),
    allocatable: amounts(nodes.allocatable, length),
    requested: amounts(nodes.requested, length),
    taints: indexed(nodes.taints || { values: [''], index: { all: 0 } }, length),
    flags: Uint8Array.from(expandColumn(nodes.flags, length)),
    created: Float64Array.from(expandColumn(nodes.created, length)),
    slotOf: new Map(),
  };
  nodes.name.forEach((name, slot) => { if (name) store.nodes.slotOf.set(name, slot); });
  publish('nodes', { all: true });
}

function indexed(column, length) {
  return { values: column.values, index: Uint32Array.from(expandColumn(column.index, length)) };
}

function amounts(columns, length) {
  return Object.fromEntries(
    Object.entries(columns || {}).map(([name, column]) => [name, Float64Array.from(expandColumn(column, length))]),
  );
}

/** Slots of nodes that exist. */
export function liveSlots() {
  const { nodes } = store;
  const slots = [];
  for (let slot = 0; slot < nodes.length; slot += 1) if (!(nodes.flags[slot] & NO_NODE)) slots.push(slot);
  return slots;
}

/** The value of a label of a node, or an empty text. */
export function labelOf(key, slot) {
  const column = store.nodes.labels[key];
  return column ? column.values[column.index[slot]] || '' : '';
}

/** The share of a resource that is requested, 0 to 1. */
export function share(resource, slot) {
  const whole = store.nodes.allocatable[resource]?.[slot] || 0;
  return whole > 0 ? Math.min(1, (store.nodes.requested[resource]?.[slot] || 0) / whole) : 0;
}

/** The largest share over all resources of the map. */
export function fullest(slot) {
  let most = 0;
  for (const resource of store.nodes.resources) most = Math.max(most, share(resource, slot));
  return most;
}

/** Sums of a resource over slots: `[requested, allocatable]`. */
export function sums(resource, slots) {
  let used = 0;
  let whole = 0;
  const { requested, allocatable } = store.nodes;
  for (const slot of slots) {
    used += requested[resource]?.[slot] || 0;
    whole += allocatable[resource]?.[slot] || 0;
  }
  return [used, whole];
}

/** Applies one event of the stream; unknown kinds are ignored. */
export function applyEvent(kind, data) {
  if (!store.nodes && kind !== 'run' && kind !== 'queue') return;
  const apply = EVENTS[kind];
  if (apply) apply(data);
}

const EVENTS = {
  nodes(data) {
    const { requested } = store.nodes;
    const length = data.slot.length;
    for (const [resource, column] of Object.entries(data.requested)) {
      const values = expandColumn(column, length);
      requested[resource] ||= new Float64Array(store.nodes.length);
      data.slot.forEach((slot, i) => { requested[resource][slot] = values[i]; });
    }
    publish('nodes', { slots: data.slot });
  },
  flags(data) {
    const values = expandColumn(data.flags, data.slot.length);
    data.slot.forEach((slot, i) => { store.nodes.flags[slot] = values[i]; });
    publish('nodes', { slots: data.slot, flags: true });
  },
  joined(data) {
    joinNodes(data);
    publish('nodes', { all: true });
  },
  left(data) {
    store.nodes.names = [...store.nodes.names];
    for (const slot of data.slot) {
      store.nodes.slotOf.delete(store.nodes.names[slot]);
      store.nodes.names[slot] = '';
      store.nodes.flags[slot] = NO_NODE;
    }
    publish('nodes', { all: true });
  },
  pods(data) {
    if (store.pods) publish('podChanges', data);
  },
  queue(data) {
    store.queue = data;
    publish('queue', data);
  },
  pending(data) {
    mergePending(data);
    publish('pending');
  },
  feed(data) {
    store.feed = [...data.items].reverse().concat(store.feed).slice(0, MAX_FEED_ITEMS);
    publish('feed');
  },
  run(data) {
    store.run = { ...store.run, ...data };
    publish('run', data);
  },
};

function grown(column, length) {
  if (column.length >= length) return column;
  const larger = new column.constructor(length);
  larger.set(column);
  return larger;
}

/** New nodes, or nodes whose object changed. */
function joinNodes(data) {
  const { nodes } = store;
  const { slot: slots, nodes: added } = data;
  const length = Math.max(nodes.length, ...slots.map((slot) => slot + 1));
  nodes.length = length;
  nodes.names = [...nodes.names];
  nodes.flags = grown(nodes.flags, length);
  nodes.created = grown(nodes.created, length);
  setIndexed(nodes.taints, added.taints, slots, length);
  for (const key of new Set([...Object.keys(nodes.labels), ...Object.keys(added.labels)])) {
    nodes.labels[key] ||= { values: [''], index: new Uint32Array(length) };
    setIndexed(nodes.labels[key], added.labels[key] || { values: [''], index: { all: 0 } }, slots, length);
  }
  for (const resource of Object.keys(added.allocatable)) if (!nodes.resources.includes(resource)) nodes.resources.push(resource);
  for (const part of ['allocatable', 'requested']) {
    for (const resource of nodes.resources) {
      const column = grown(nodes[part][resource] || new Float64Array(0), length);
      const values = expandColumn(added[part][resource] ?? { all: 0 }, slots.length);
      slots.forEach((slot, i) => { column[slot] = values[i]; });
      nodes[part][resource] = column;
    }
  }
  const flags = expandColumn(added.flags, slots.length);
  const created = expandColumn(added.created, slots.length);
  slots.forEach((slot, i) => {
    nodes.names[slot] = added.name[i];
    nodes.slotOf.set(added.name[i], slot);
    nodes.flags[slot] = flags[i];
    nodes.created[slot] = created[i];
  });
}

function setIndexed(column, added, slots, length) {
  column.index = grown(column.index, length);
  const index = expandColumn(added.index, slots.length);
  slots.forEach((slot, i) => {
    const value = added.values[index[i]] ?? '';
    let at = column.values.indexOf(value);
    if (at < 0) at = column.values.push(value) - 1;
    column.index[slot] = at;
  });
}

function mergePending(data) {
  const groups = new Map((store.pending?.groups || []).map((group) => [group.id, group]));
  for (const group of data.groups) groups.set(group.id, group);
  const kept = data.order.map((id) => groups.get(id)).filter(Boolean);
  store.pending = { ...store.pending, pods: data.pods, groups: kept };
}
