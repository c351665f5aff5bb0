// The page of a workload: how many pods have a node, and the pending ones by sentence with what would help.
import { el, replaceChildren } from './dom.js';
import { count, plural } from './format.js';
import { loadPods } from './pods.js';
import { apiPath, getJson } from './net.js';
import { drawStack, podRoute, verdictBadge } from './panel.js';
import { rawJson, section } from './pod_parts.js';
import { publish, store } from './store.js';

export const workloadView = {
  name: 'workload',
  layout: 'panel',
  title: (here) => here.segments.join('/'),
  async open(here, signal) {
    const head = () => el('div', { class: 'panel-head' }, el('a', { class: 'back', href: '#/map' }, '‹ all pending pods'), el('h1', { class: 'mono' }, here.segments.join('/')));
    replaceChildren(here.place, head(), el('p', { class: 'section quiet' }, 'Loading…'));
    lightWorkload(here.segments.join('/'), signal);
    try {
      const found = await getJson(`workload/${apiPath(...here.segments)}`);
      if (!signal.aborted) replaceChildren(here.place, head(), draw(found, here.segments));
    } catch (error) {
      if (!signal.aborted) replaceChildren(here.place, head(), el('p', { class: 'section' }, error.message));
    }
  },
  close() {
    store.focus = null;
    publish('focus');
  },
};

/** Lights the nodes that run pods of the workload. */
async function lightWorkload(name, signal) {
  try {
    const pods = await loadPods();
    if (signal.aborted) return;
    const index = pods.workloads.indexOf(name);
    const slots = new Set();
    pods.workload.forEach((workload, pod) => { if (workload === index && pods.node[pod] >= 0) slots.add(pods.node[pod]); });
    store.focus = slots.size ? slots : null;
    publish('focus');
  } catch {
    store.focus = null;
  }
}

function draw(found, [namespace, kind, name]) {
  const groups = found.groups || [];
  const pending = found.pods || 0;
  const stack = el('div', { class: 'stack', 'aria-hidden': 'true' });
  drawStack(stack, groups);
  const placed = found.placed || 0;
  const words = pending ? `${plural(pending, 'pod')} ${pending === 1 ? 'is' : 'are'} pending, ${placed ? count(placed) : 'none'} ${placed > 1 ? 'have' : 'has'} a node.`
    : placed === 1 ? 'Its pod has a node.' : `All ${plural(placed, 'pod')} have a node.`;
  return [
    el('div', { class: 'section' }, el('p', { class: 'said' }, words), stack),
    groups.map(groupSection),
    rawJson('Answer as JSON', found, `stowplan explain ${kind}/${name} -n ${namespace} -o json`),
  ];
}

function groupSection(group) {
  const proposals = group.explanation?.proposals || [];
  return section(plural(group.pods, 'pod'), verdictBadge(group),
    el('p', { class: 'said' }, group.sentence),
    proposals.length > 0 && el('ul', { class: 'proposals' }, proposals.map((proposal) => el('li', {},
      el('b', { class: 'opens' }, count(proposal.pods || proposal.opens)),
      el('div', {}, el('span', {}, proposal.change.text), el('small', {}, proposalWords(proposal, group)))))),
    el('ul', { class: 'plain' }, (group.sample || []).map((pod) => el('li', {}, el('a', { class: 'mono', href: podRoute(pod, { group: group.id }) }, pod)))));
}

function proposalWords(proposal, group) {
  const parts = [];
  if (proposal.pods) parts.push(`${count(proposal.pods)} of ${plural(group.pods, 'pod')} would get a node`);
  if (proposal.opens) parts.push(`${plural(proposal.opens, 'node')} opened`);
  if (proposal.forAll) parts.push(`${count(proposal.forAll)} such nodes for all`);
  return ` ${parts.join(', ')}`;
}
