// Lists of a run at a time before its end: pending pods by the reason of their last attempt, and the queue's counts.
import { POD_PENDING } from './replay.js';
import { store } from './store.js';

const MAX_WORKLOADS = 20;

/** The answer `pending` for the state of a replay. */
export function pendingAt(replay, pods) {
  const groups = new Map();
  let number = 0;
  replay.state.node.forEach((node, pod) => {
    if (node !== POD_PENDING) return;
    number += 1;
    const reason = replay.state.reason[pod];
    if (!groups.has(reason)) groups.set(reason, new Map());
    const workload = pods.workloads[pods.workload[pod]];
    groups.get(reason).set(workload, (groups.get(reason).get(workload) || 0) + 1);
  });
  const listed = [...groups].map(([reason, workloads]) => groupOf(reason, workloads, replay.events.reasons));
  return { pods: number, groups: listed.sort((a, b) => b.pods - a.pods), moreGroups: 0 };
}

function groupOf(reason, workloads, reasons) {
  const largest = [...workloads].sort((a, b) => b[1] - a[1]);
  return {
    id: `at-${reason}`, sentence: reason < 0 ? 'Not tried yet' : reasons[reason] || 'Rejected', verdict: reason < 0 ? 'waiting' : 'not-now', state: 'pending', because: '',
    pods: largest.reduce((sum, entry) => sum + entry[1], 0), workloads: Object.fromEntries(largest.slice(0, MAX_WORKLOADS)), sample: [], since: '',
  };
}

/** The answer `queue` of the stream, from the sample before a time. */
export function queueAt(time, replay) {
  const { history } = store;
  if (!history?.time.length) return null;
  let at = 0;
  while (at + 1 < history.time.length && history.time[at + 1] <= time) at += 1;
  const counts = Object.fromEntries(Object.entries(history.queues).map(([name, list]) => [name, list[at]]));
  let pods = 0;
  for (const node of replay.state.node) if (node >= 0) pods += 1;
  return { time, counts, bound: history.bound[at], failed: history.failed[at], pods };
}
