// Pods on nodes: columns of the answer `pods`, their names, and the pods of a node for cards.
import { getJson, streamPods } from './net.js';
import { expandColumn, publish, store, subscribe } from './store.js';

let loading = null;

/** Loads the pod columns once; later calls return the same promise. */
export function loadPods() {
  loading ||= getJson('pods').then((answer) => {
    takePods(answer);
    streamPods();
    return store.pods;
  }).catch((error) => {
    loading = null;
    throw error;
  });
  return loading;
}

/** Forgets the pods, when slots get another meaning; loads them again if they were shown. */
export function resetPods() {
  const shown = store.pods !== null;
  store.pods = null;
  loading = null;
  if (shown) loadPods().catch(() => {});
}

export function takePods(answer) {
  const { node, number: length } = answer;
  // Events of the stream may be newer than the columns; they have absolute values, so some may come again.
  store.nodes.revision = Math.min(store.nodes.revision, answer.revision);
  const requests = Object.fromEntries(
    Object.entries(answer.requests).map(([name, column]) => [name, expandColumn(column, length)]),
  );
  store.pods = {
    length,
    node: [...expandColumn(node, length)],
    workloads: [...answer.workload.values],
    workload: [...expandColumn(answer.workload.index, length)],
    priority: [...expandColumn(answer.priority, length)],
    requests,
    names: null,
    byNode: null,
  };
  rankWorkloads(store.pods);
  publish('pods');
}

/** Ranks workloads by their number of pods, so that the largest have different colours. */
function rankWorkloads(pods) {
  const counts = new Map(pods.workloads.map((name) => [name, 0]));
  pods.workload.forEach((workload, pod) => {
    if (pods.node[pod] >= 0) counts.set(pods.workloads[workload], counts.get(pods.workloads[workload]) + 1);
  });
  const ordered = [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
  pods.rank = new Map(ordered.map(([name], i) => [name, i]));
}

/** Loads the names of pods, for search and tooltips. */
export async function loadPodNames() {
  const pods = await loadPods();
  if (pods.names) return pods.names;
  const answer = await getJson('pods?names');
  const prefixes = expandColumn(answer.prefix.index, answer.suffix.length);
  pods.names = answer.suffix.map((suffix, i) => (answer.prefix.values[prefixes[i]] ?? '') + suffix);
  return pods.names;
}

subscribe('podChanges', takePodChanges);

/** Pods that came to a node or left one. */
function takePodChanges(data) {
  const { pods } = store;
  const number = data.pod.length;
  const node = expandColumn(data.node, number);
  const workload = expandColumn(data.workload.index, number);
  const priority = expandColumn(data.priority, number);
  const requests = Object.entries(data.requests).map(([resource, column]) => [resource, expandColumn(column, number)]);
  data.pod.forEach((pod, i) => {
    const name = data.workload.values[workload[i]];
    let at = pods.workloads.indexOf(name);
    if (at < 0) at = pods.workloads.push(name) - 1;
    pods.node[pod] = node[i];
    pods.workload[pod] = at;
    pods.priority[pod] = priority[i];
    for (const [resource, column] of requests) {
      pods.requests[resource] ||= new Array(pods.length).fill(0);
      pods.requests[resource][pod] = column[i];
    }
    if (pods.names) pods.names[pod] = data.name[i];
  });
  for (const pod of data.gone) pods.node[pod] = -1;
  pods.length = pods.node.length;
  pods.byNode = null;
  publish('pods');
}

/** The pods of a node: indices, the largest share of the node first. */
export function podsOfNode(slot) {
  const { pods, nodes } = store;
  if (!pods) return [];
  if (!pods.byNode) {
    pods.byNode = new Map();
    pods.node.forEach((node, pod) => {
      if (node < 0) return;
      if (!pods.byNode.has(node)) pods.byNode.set(node, []);
      pods.byNode.get(node).push(pod);
    });
    pods.byNode.sorted = new Set();
    pods.blocks = new Map();
  }
  const list = pods.byNode.get(slot) || [];
  if (!pods.byNode.sorted.has(slot)) {
    pods.byNode.sorted.add(slot);
    list.sort((a, b) => podShare(b, slot, nodes) - podShare(a, slot, nodes) || a - b);
  }
  return list;
}

/** The largest share of the node's resources that a pod requests. */
export function podShare(pod, slot, nodes = store.nodes) {
  let most = 0;
  const { requests } = store.pods;
  for (const resource of Object.keys(requests)) {
    const whole = nodes.allocatable[resource]?.[slot] || 0;
    if (whole > 0) most = Math.max(most, (requests[resource][pod] || 0) / whole);
  }
  return most;
}
