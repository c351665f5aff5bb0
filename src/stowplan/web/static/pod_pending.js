// The page of a pod that waits: sentence, funnel, near misses, proposals, preemption, queue, kube-scheduler's message.
import { familyColour, familyOf } from './colours.js';
import { announce, byId, copyButton, el, numberCells, replaceChildren, scrolledTable } from './dom.js';
import { amount, count, plural, resourceName, timeOfDay } from './format.js';
import { apiPath, getJson, isEmbedded } from './net.js';
import { podRoute } from './panel.js';
import { factRows, folded, offersWhatIf, pendingFacts, rawJson, requestsText, section, sentenceBox } from './pod_parts.js';
import { followPod } from './pod_store.js';
import { route } from './router.js';
import { publish, store } from './store.js';
import { isDark } from './theme.js';

/** The content of the panel below the head. */
export function pendingPod(here, explanation) {
  const key = here.segments.join('/');
  const group = (store.pending?.groups || []).find((other) => other.id === here.query.get('group'));
  queueMicrotask(() => replaceChildren(byId('pod-facts'), pendingFacts(explanation, group)));
  return [
    el('div', { class: 'section' }, sentenceBox(explanation)),
    funnel(explanation),
    nearMisses(explanation),
    proposals(explanation),
    queueSection(explanation),
    attempts(explanation),
    preemption(explanation),
    reasons(explanation),
    explanation.message && section('kube-scheduler’s words', '', el('p', { class: 'words' }, explanation.message)),
    actions(here, key, explanation),
    rawJson('Explanation as JSON', explanation, `stowplan explain ${key} -o json`),
  ];
}

/** Which nodes are left after each rule; a line of it lights its nodes on the map. */
function funnel(explanation) {
  const steps = explanation.steps || [];
  if (steps.length < 2) return null;
  const whole = steps[0].left || 1;
  const list = el('div', { class: 'funnel' }, steps.slice(1).map((step, i) => funnelRow(step, i, whole)));
  return section('Which nodes are left', `of ${count(whole)}`, list);
}

function funnelRow(step, index, whole) {
  const dark = isDark();
  const colour = familyColour(familyOf(step.plugin), dark);
  const row = el('button', {
    type: 'button', class: 'funnel-row', 'aria-pressed': 'false', title: step.rule || '',
    onclick: () => lightStep(row, index),
  },
  el('span', { class: 'funnel-name' }, el('span', {}, step.plugin || step.rule), step.plugin && step.rule && el('small', {}, step.rule)),
  el('span', { class: 'bar' },
    el('i', { class: 'left', style: { width: `${(100 * step.left) / whole}%` } }),
    el('i', { style: { width: `${(100 * (step.lost || 0)) / whole}%`, background: colour } })),
  el('span', { class: 'funnel-figure' }, el('b', {}, `−${count(step.lost || 0)}`), ` → ${count(step.left || 0)}`));
  return row;
}

function lightStep(row, index) {
  const { fit } = store.pod;
  const on = row.getAttribute('aria-pressed') !== 'true';
  for (const other of row.parentElement.children) other.setAttribute('aria-pressed', 'false');
  row.setAttribute('aria-pressed', String(on));
  if (!fit) return;
  const slots = on ? fit.step.flatMap((step, slot) => (step === index + 1 ? [slot] : [])) : [];
  light(on ? new Set(slots) : null);
  if (on) announce(`${plural(slots.length, 'node')} lit on the map`);
}

function light(slots) {
  store.focus = slots;
  publish('focus');
}

/** Rings a node on the map while its row is under the pointer or has the focus. */
function ringing(name) {
  const ring = () => {
    const slot = store.nodes.slotOf.get(name);
    store.rings = slot === undefined ? [] : [{ slot, kind: 'near' }];
    publish('rings');
  };
  const clear = () => {
    store.rings = [];
    publish('rings');
  };
  return { onpointerenter: ring, onpointerleave: clear, onfocusin: ring, onfocusout: clear };
}

/** Lights the nodes that a proposal opens while it is under the pointer or has the focus, and rings the best one. */
function opening({ namespace, name }, proposal, number) {
  const handlers = proposal.best ? ringing(proposal.best) : {};
  if (!proposal.opens || isEmbedded()) return handlers;
  let on = false;
  let slots = null;
  const start = async () => {
    on = true;
    handlers.onpointerenter?.();
    slots ??= getJson(`opened/${apiPath(namespace, name, String(number))}`).then((answer) => answer.slot, () => []);
    const found = await slots;
    if (on && found.length) light(new Set(found));
  };
  const end = () => {
    on = false;
    handlers.onpointerleave?.();
    light(null);
  };
  return { tabindex: 0, onpointerenter: start, onpointerleave: end, onfocusin: start, onfocusout: end };
}

function nearMisses(explanation) {
  const closest = explanation.closest || [];
  if (!closest.length) return null;
  const amounts = closest.every((node) => node.refusals.length === 1 && node.refusals[0].facts?.free !== undefined);
  const note = el('span', {}, nearText());
  followPod(note, () => { note.textContent = nearText(); });
  return section('Near misses', note, amounts ? amountTable(closest) : el('ul', { class: 'near-list' }, closest.map(nearItem)));
}

function nearText() {
  const near = store.pod?.fit?.near.length;
  return near ? `${plural(near, 'node')} ${near === 1 ? 'is' : 'are'} one small change away` : 'the closest nodes';
}

function amountTable(closest) {
  return scrolledTable('Near misses', ['node', 'free', 'lacks', 'would fit with'], closest.map((node) => {
    const { facts } = node.refusals[0];
    const lacks = Math.max(0, (facts.wanted || 0) - facts.free);
    return el('tr', ringing(node.node), el('td', {}, nodeLink(node.node)),
      numberCells(amount(facts.resource, facts.free), `${amount(facts.resource, lacks)} ${resourceName(facts.resource)}`), el('td', { class: 'fix' }, node.changes?.[0]?.text || ''));
  }), 'amounts');
}

function nodeLink(name) {
  return el('a', { class: 'mono', href: route('node', [name]) }, name);
}

function nearItem(node) {
  const change = node.changes?.[0];
  return el('li', ringing(node.node), nodeLink(node.node), node.refusals.map((refusal) => el('p', {}, refusal.text)),
    change && el('p', { class: 'fix' }, `would fit with: ${change.text}`));
}

function proposals(explanation) {
  const list = explanation.proposals || [];
  if (!list.length) return null;
  return section('What would help', 'nodes opened, all of it checked', el('ul', { class: 'proposals' }, list.map((proposal, number) => {
    const patch = proposal.change.patch || [];
    return el('li', opening(explanation.pod, proposal, number),
      el('b', { class: 'opens' }, count(proposal.opens)),
      el('div', {}, el('span', {}, proposal.change.text),
        proposal.best && el('small', {}, ` best: ${proposal.best}`),
        proposal.forAll > 0 && el('small', {}, ` ${count(proposal.forAll)} for all pods of the workload`),
        patch.length > 0 && el('details', {}, el('summary', {}, 'patch'),
          el('pre', { class: 'raw', tabindex: 0 }, JSON.stringify(patch, null, 1)),
          copyButton('Copy patch', () => JSON.stringify(patch)))));
  })));
}

function queueSection(explanation) {
  const { queue, pod } = explanation;
  const rows = [
    ['requests', requestsText(pod.requests)],
    ['state', queue && [queue.place, queue.text].filter(Boolean).join(', ')],
    ['attempts', queue?.attempts ? count(queue.attempts) : null],
    ['ahead of it', queue?.ahead ? plural(queue.ahead, 'pod') : null],
    ['tried again', queue?.latest ? `at the latest ${queue.latest}` : null],
    ['rejected by', (queue?.plugins || []).join(', ')],
    ['scheduler', pod.scheduler],
  ];
  const wakes = queue?.wakes || [];
  return section('Queue', '', factRows(rows), wakes.length > 0 && folded('What wakes it up',
    el('ul', { class: 'plain' }, wakes.map((wake) => el('li', {}, el('b', {}, wake.event), ` ${wake.text}`)))));
}

/** Attempts over time: entries of consecutive attempts that failed alike, the latest first. */
function attempts(explanation) {
  const entries = [...(explanation.history || [])].reverse();
  if (!entries.length) return null;
  const most = Math.max(...entries.map((entry) => entry.attempts));
  return section('Attempts', '', el('ol', { class: 'attempts' }, entries.map((entry) => el('li', { title: entry.message },
    el('time', { title: entry.time === entry.latest ? entry.time : `${entry.time} to ${entry.latest}` }, timeOfDay(new Date(entry.latest))),
    el('span', { class: 'bar' }, el('i', { style: { width: `${(100 * entry.attempts) / most}%` } })),
    el('span', {}, `${plural(entry.attempts, 'attempt')}: `, entry.verdict === 'error' ? entry.message : `rejected by ${(entry.plugins || []).join(', ')}`)))));
}

function preemption(explanation) {
  const answer = explanation.preemption;
  if (!answer) return null;
  return section('Preemption', answer.nodes ? `${plural(answer.nodes, 'node')} could be freed` : '',
    el('p', {}, answer.text),
    answer.cheapest && factRows([
      ['cheapest node', el('a', { href: route('node', [answer.cheapest]) }, answer.cheapest)],
      ['disruption budgets violated', answer.pdbViolations ? count(answer.pdbViolations) : null],
    ]),
    (answer.victims || []).length > 0 && el('ul', { class: 'plain' },
      answer.victims.map((victim) => el('li', {}, el('a', { class: 'mono', href: podRoute(victim) }, victim)))));
}

function reasons(explanation) {
  const list = explanation.reasons || [];
  if (!list.length) return null;
  return folded(`All reasons: ${plural(list.length, 'plugin')}`, scrolledTable('Reasons', ['plugin', 'nodes', 'alone'], list.map((reason) => el('tr', {},
    el('td', {}, reason.plugin, el('small', {}, Object.keys(reason.messages || {}).map((text) => ` ${text}`))),
    numberCells(count(reason.nodes), count(reason.alone || 0))))));
}

function actions(here, key, explanation) {
  const answer = el('div', { class: 'why-not', 'aria-live': 'polite' });
  const input = el('input', { type: 'text', list: 'node-names', placeholder: 'node name', 'aria-label': 'Why not this node?' });
  const ask = async (event) => {
    event.preventDefault();
    replaceChildren(answer, el('p', { class: 'quiet' }, 'Computing…'));
    try {
      replaceChildren(answer, whyNot(await getJson(`why-not/${apiPath(...here.segments, input.value.trim())}`)));
    } catch (error) {
      replaceChildren(answer, el('p', {}, error.message));
    }
  };
  return el('section', { class: 'section' },
    el('div', { class: 'buttons' },
      offersWhatIf() && el('a', { class: 'button primary', href: route('what-if', here.segments) }, 'What if…'),
      el('a', { class: 'button', href: route('matrix', here.segments) }, 'Nodes × plugins')),
    el('form', { class: 'ask', onsubmit: ask }, el('label', {}, 'Why not ', input, '?'), el('button', { class: 'button', type: 'submit' }, 'Explain')),
    answer);
}

/** The rules of all plugins about one node. */
export function whyNot(found) {
  return [
    el('p', { class: 'said' }, found.sentence), (found.more || []).map((text) => el('p', { class: 'quiet' }, text)),
    el('table', { class: 'table' }, el('tbody', {}, (found.rules || []).map((rule) => el('tr', {},
      el('td', { class: rule.ok ? 'ok' : 'bad' }, rule.ok ? '✓' : '×'), el('td', {}, rule.plugin),
      el('td', {}, rule.text || [rule.wanted, rule.there && `there: ${rule.there}`].filter(Boolean).join('; ')))))),
    (found.changes || []).map(({ change }) => el('p', { class: 'fix' }, `Would fit with: ${change.text}`)),
  ];
}

