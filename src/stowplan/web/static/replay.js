// The state of a run at any time: its events are replayed on columns of nodes and pods, from the nearest checkpoint.
import { getJson } from './net.js';
import { JOINED, NOT_READY, expandColumn } from './store.js';

export const RUN_BOUND = 0;
export const RUN_GONE = 1;
export const RUN_JOINED = 2;
export const RUN_LEFT = 3;
export const RUN_FAILED = 4;
export const RUN_EVICTED = 5;
export const RUN_CREATED = 6;
export const RUN_REMOVED = 7; // made here: a node that left is crossed for a while, and then not there
export const POD_PENDING = -1;
const POD_NOT_THERE = -2;
const NO_NODE = 16;
const CHECKPOINT_EVENTS = 20000;
const CROSSED_SHARE = 0.03; // of the run, for nodes that left

/** The events of the run, which come in several answers if there are very many. */
export async function loadRunEvents() {
  const events = await getJson('run/events');
  while (events.dt.length < events.total) {
    const more = await getJson(`run/events?from=${events.dt.length}`);
    if (!more.dt.length) break;
    for (const name of ['dt', 'kind', 'pod', 'node']) events[name] = events[name].concat(more[name]);
  }
  return events;
}

/** The columns of events as typed arrays, with the removal of nodes that left and did not come back. */
function columnsOf({ dt, kind, pod, node, end }) {
  const most = dt.length + kind.reduce((sum, each) => sum + (each === RUN_LEFT), 0);
  const made = { times: new Float64Array(most), kind: new Uint8Array(most), pod: new Int32Array(most), node: new Int32Array(most) };
  const leaving = []; // [time, node], the first to go first
  let length = 0;
  let sum = 0;
  const add = (time, ...values) => {
    made.times[length] = time;
    [made.kind[length], made.pod[length], made.node[length]] = values;
    length += 1;
  };
  for (let i = 0; i < dt.length; i += 1) {
    sum += dt[i];
    const time = sum / 1000;
    while (leaving.length && leaving[0][0] <= time) add(leaving[0][0], RUN_REMOVED, -1, leaving.shift()[1]);
    if (kind[i] === RUN_LEFT) leaving.push([time + CROSSED_SHARE * end, node[i]]);
    else if (kind[i] === RUN_JOINED && leaving.length) leaving.splice(0, leaving.length, ...leaving.filter((entry) => entry[1] !== node[i]));
    add(time, kind[i], pod[i], node[i]);
  }
  for (const [time, name] of leaving) if (time <= end) add(time, RUN_REMOVED, -1, name);
  return Object.fromEntries(Object.entries(made).map(([name, column]) => [name, column.subarray(0, length)]));
}

/**
 * `events` is the answer `run/events`, `nodes` the columns at the end of the run, with the lost nodes among them, `pods` the
 * pod columns. `state` has `requested` by resource and slot, `flags` by slot, `node` (a slot, -1 pending, -2 not there)
 * and `reason` (-1: none) by pod; `position` is the number of events that are applied.
 */
export class Replay {
  constructor(events, nodes, pods) {
    const { times, ...columns } = columnsOf(events);
    this.times = times;
    this.events = { ...events, dt: null, ...columns };
    this.slots = Int32Array.from(events.nodes, (name) => nodes.slotOf.get(name) ?? -1);
    this.number = pods.length;
    this.requests = Object.fromEntries(nodes.resources.map((name) => [name,
      name === 'pods' ? new Float64Array(this.number).fill(1) : Float64Array.from(expandColumn(pods.requests[name] ?? { all: 0 }, this.number))]));
    this.ready = Uint8Array.from(nodes.flags);
    for (const slot of this.slots) if (slot >= 0) this.ready[slot] &= ~(NO_NODE | JOINED);
    this.amounts = Object.entries(this.requests);
    this.state = this.startState(nodes);
    this.position = 0;
    this.checkpoints = [copyState(this.state)];
  }

  startState(nodes) {
    const { events, slots, number } = this;
    const start = expandColumn(events.start, number);
    const state = {
      requested: Object.fromEntries(nodes.resources.map((name) => [name, Float64Array.from(nodes.requested[name] ?? new Float64Array(nodes.length))])),
      flags: Uint8Array.from(this.ready),
      node: Int32Array.from(start, (node) => (node >= 0 ? slots[node] : node)),
      reason: new Int32Array(number).fill(-1),
    };
    const end = this.endNodes(state.node);
    for (let pod = 0; pod < number; pod += 1) {
      if (end[pod] >= 0) this.move(state, pod, end[pod], -1);
      if (state.node[pod] >= 0) this.move(state, pod, state.node[pod], 1);
    }
    const seen = new Set();
    events.kind.forEach((kind, i) => {
      if ((kind !== RUN_JOINED && kind !== RUN_LEFT) || seen.has(events.node[i])) return;
      seen.add(events.node[i]);
      if (kind === RUN_JOINED) state.flags[slots[events.node[i]]] = NO_NODE;
    });
    return state;
  }

  endNodes(start) {
    const { events, slots } = this;
    const end = Int32Array.from(start);
    events.kind.forEach((kind, i) => {
      if (kind === RUN_BOUND) end[events.pod[i]] = slots[events.node[i]];
      else if (kind === RUN_GONE) end[events.pod[i]] = POD_NOT_THERE;
    });
    return end;
  }

  move(state, pod, slot, sign) {
    for (const [name, amounts] of this.amounts) state.requested[name][slot] += sign * amounts[pod];
  }

  /** Applies one event; returns the slot that it changed, or -1. */
  apply(i) {
    const { events, state } = this;
    const pod = events.pod[i];
    const slot = events.kind[i] === RUN_FAILED ? -1 : this.slots[events.node[i]] ?? -1;
    switch (events.kind[i]) {
      case RUN_BOUND:
        state.node[pod] = slot;
        if (slot >= 0) this.move(state, pod, slot, 1);
        return slot;
      case RUN_GONE: {
        const from = state.node[pod];
        if (from >= 0) this.move(state, pod, from, -1);
        state.node[pod] = POD_NOT_THERE;
        return from;
      }
      case RUN_CREATED:
        state.node[pod] = POD_PENDING;
        return -1;
      case RUN_FAILED:
        if (pod >= 0) state.reason[pod] = events.node[i];
        return -1;
      case RUN_LEFT:
        state.flags[slot] = NOT_READY;
        return slot;
      case RUN_REMOVED:
        state.flags[slot] = NO_NODE;
        return slot;
      case RUN_JOINED:
        state.flags[slot] = this.ready[slot];
        return slot;
      default:
        return pod >= 0 ? state.node[pod] : -1;
    }
  }

  /** Goes to a number of events. Returns the slots that changed, or null if any of them may have. */
  seek(position) {
    const target = Math.max(0, Math.min(position, this.times.length));
    const back = target < this.position;
    if (back) {
      const number = Math.min(Math.floor(target / CHECKPOINT_EVENTS), this.checkpoints.length - 1);
      restoreState(this.state, this.checkpoints[number]);
      this.position = number * CHECKPOINT_EVENTS;
    }
    const changed = new Set();
    while (this.position < target) {
      const slot = this.apply(this.position);
      if (slot >= 0) changed.add(slot);
      this.position += 1;
      if (this.position % CHECKPOINT_EVENTS === 0 && this.checkpoints.length === this.position / CHECKPOINT_EVENTS) {
        this.checkpoints.push(copyState(this.state));
      }
    }
    return back ? null : changed;
  }

  /** The number of events up to and at a time. */
  positionAt(time) {
    let low = 0;
    let high = this.times.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.times[middle] <= time + 1e-9) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The time of the last event that is applied. */
  get time() {
    return this.position ? this.times[this.position - 1] : 0;
  }
}

function copyState(state) {
  return {
    requested: Object.fromEntries(Object.entries(state.requested).map(([name, column]) => [name, column.slice()])),
    flags: state.flags.slice(), node: state.node.slice(), reason: state.reason.slice(),
  };
}

/** Copies into the arrays of `state`, which others hold. */
function restoreState(state, from) {
  for (const [name, column] of Object.entries(from.requested)) state.requested[name].set(column);
  state.flags.set(from.flags);
  state.node.set(from.node);
  state.reason.set(from.reason);
}
