// Tables of two runs: workloads that differ, figures of both, pods that moved.
import { el, scrolledTable } from './dom.js';
import { amount, count, duration, percent, plural, resourceName, shortWorkload } from './format.js';
import { podRoute } from './panel.js';
import { folded, section } from './pod_parts.js';

const MAX_ROWS = 200;

/** Workloads with pods that are placed, left or moved. */
export function differenceTable(workloads) {
  const changed = workloads.filter((each) => each.placed || each.left || each.displaced || each.moved);
  if (!changed.length) return section('Pods', '', el('p', { class: 'quiet' }, 'No workload changes.'));
  const size = (each) => ((each.displaced || 0) + (each.placed || 0) + (each.moved || 0)) * 1000 + (each.left || 0);
  changed.sort((a, b) => size(b) - size(a));
  const shown = ['pending', 'displaced', 'placed', 'left', 'moved'].filter((name) => changed.some((each) => each[name]));
  const heads = ['workload', ...shown];
  return section('Pods', plural(changed.length, 'workload'), table(heads, changed.slice(0, MAX_ROWS).map((each) => [
    [shortWorkload(each.workload), each.why && el('small', { class: 'block quiet' }, each.why.text)], ...shown.map((name) => each[name] || 0)])));
}

/** Totals of both runs; the better one is bold where better is defined. */
export function figuresTable(run, histories = null) {
  const before = run.answer.before?.use ? run.answer.before : run.answer.totalsBefore;
  const after = run.answer.after?.use ? run.answer.after : run.answer.totalsAfter;
  if (!before || !after) return null;
  const rows = [
    ['pods placed', before.placed, after.placed, count, 1], ['pods pending', before.pending, after.pending, count, -1],
    ['nodes', before.nodes, after.nodes, count, 0],
  ];
  if (histories) rows.push(...timeRows(histories));
  for (const use of after.use) {
    const old = before.use.find((each) => each.resource === use.resource);
    if (!old) continue;
    const name = resourceName(use.resource);
    const asPercent = (value) => `${Math.round(value)} %`;
    rows.push([`${name} requested`, percent(old.requested, old.allocatable), percent(use.requested, use.allocatable), asPercent, 0]);
    rows.push([`${name}, deviation of nodes`, old.deviation, use.deviation, (value) => `${value.toFixed(1)} points`, -1]);
    rows.push([`${name}, largest free amount`, old.largestHole, use.largestHole, (value) => amount(use.resource, value), 0]);
    rows.push([`nodes with room for ${amount(use.resource, use.largestRequest)} ${name}`, old.nodesForLargest, use.nodesForLargest, count, 1]);
  }
  const cell = (value, other, text, better) => {
    const isBetter = (value - other) * better > 0;
    return el('td', { class: isBetter ? 'number better' : 'number' }, text(value), isBetter && el('span', { class: 'unseen' }, ' (better)'));
  };
  return section('Figures', '', scrolledTable('Figures', [el('th', { scope: 'col' }, el('span', { class: 'unseen' }, 'figure')), run.before, run.after],
    rows.map(([name, old, now, text, better]) => el('tr', {}, el('td', {}, name), cell(old, now, text, better), cell(now, old, text, better)))));
}

/** Evictions, and how long pods waited. */
function timeRows([before, after]) {
  const evicted = ({ time, evicted: rates }) => rates.reduce((sum, rate, i) => sum + rate * (i ? time[i] - time[i - 1] : 0), 0);
  const waits = ['p50', 'p90', 'p99'].filter((name) => name in before.allWaits && name in after.allWaits);
  return [['pods evicted', evicted(before), evicted(after), count, -1],
    ...waits.map((name) => [`wait until bound, ${name}`, before.allWaits[name], after.allWaits[name], duration, -1])];
}

/** Pods on another node, by workload and by from → to. */
export function movedPods(answer) {
  const pods = [...(answer.moved || []), ...(answer.nowWaiting || []), ...(answer.nowPlaced || [])];
  if (!pods.length) return section('Pods that differ', '', el('p', { class: 'quiet' }, 'None.'));
  const groups = new Map();
  for (const pod of pods) {
    const key = pod.workload || pod.pod;
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(pod);
  }
  const listed = [...groups].sort((a, b) => b[1].length - a[1].length).slice(0, MAX_ROWS);
  return section('Pods that differ', `${plural(pods.length, 'pod')} of ${plural(groups.size, 'workload')}`, listed.map(([name, members]) => folded(`${shortWorkload(name)} (${count(members.length)})`,
    table(['pod', 'from', 'to'], members.slice(0, MAX_ROWS).map((pod) => [el('a', { class: 'mono', href: podRoute(pod.pod) }, pod.pod), pod.before || 'pending', pod.after || 'pending'])))));
}

function table(heads, rows) {
  const cell = (value) => el('td', { class: typeof value === 'number' ? 'number' : null }, typeof value === 'number' ? count(value) : value);
  return scrolledTable(heads[0], heads, rows.map((row) => el('tr', {}, row.map(cell))));
}
