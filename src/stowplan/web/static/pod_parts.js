// Parts that both pages of pods share: sentence box, raw JSON, tables of facts, the line of facts below the name.
import { copyButton, el } from './dom.js';
import { amount, count, duration, plural, resourceName, verdictClass } from './format.js';
import { ageNow } from './panel.js';
import { route } from './router.js';
import { store } from './store.js';

/** The sentence with its details, in the colour of the verdict. */
export function sentenceBox(explanation) {
  const kind = explanation.node ? 'fits' : verdictClass({ ...explanation, because: explanation.because?.id });
  return el('div', { class: `sentence ${kind}` },
    el('p', { class: 'said' }, explanation.sentence),
    (explanation.more || []).map((text) => el('p', { class: 'more-said' }, text)));
}

/** A section of the panel with a heading and a note at its right. */
export function section(title, note, ...children) {
  return el('section', { class: 'section' },
    el('div', { class: 'section-head' }, el('h2', {}, title), note && el('span', { class: 'quiet' }, note)), ...children);
}

/** A folded section. */
export function folded(title, ...children) {
  return el('details', { class: 'section fold' }, el('summary', {}, title), ...children);
}

/** Rows of `[name, value]`. */
export function factRows(rows) {
  return el('dl', { class: 'facts' }, rows.filter(([, value]) => value !== null && value !== undefined && value !== '')
    .map(([name, value]) => el('div', {}, el('dt', {}, name), el('dd', {}, value))));
}

/** "cpu 12, memory 4 Gi". */
export function requestsText(requests) {
  return Object.entries(requests || {}).map(([resource, value]) => `${amount(resource, value)} ${resourceName(resource)}`).join(', ');
}

/** Links to the workload and, unless it is the workload, to the pod group; null without either. */
export function workloadLink(pod) {
  const names = new Set([pod.workload, pod.podGroup && `PodGroup/${pod.podGroup}`].filter(Boolean));
  const links = [...names].map((name) => el('a', { href: route('workload', [pod.namespace, ...name.split('/')]) }, name));
  return links.length > 1 ? el('span', {}, links[0], ' in ', links[1]) : links[0] || null;
}

/** Facts below the name of a pending pod: its group, how long it waits, attempts. */
export function pendingFacts(explanation, group) {
  const { pod, queue } = explanation;
  const age = ageNow(pod.since);
  const parts = [];
  if (group && group.pods > 1) parts.push(`one of ${count(group.pods)}`);
  const workload = workloadLink(pod);
  const start = parts.length ? [`${parts[0]}${workload ? ' of ' : ''}`, workload] : [workload && 'of ', workload];
  const rest = [];
  if (age !== null && age >= 0) rest.push(`pending ${duration(age)}`);
  if (queue?.attempts) rest.push(plural(queue.attempts, 'attempt'));
  if (pod.priority) rest.push(`priority ${count(pod.priority)}`);
  return [start, (parts.length || workload) && rest.length ? ', ' : '', rest.join(', ')];
}

/** The JSON as the command prints it, folded, with a button to copy it. */
export function rawJson(title, value, command) {
  const text = JSON.stringify(value, null, 2);
  return folded(title,
    command && el('p', { class: 'quiet' }, 'The same on the command line: ', el('code', {}, command)),
    el('div', { class: 'buttons' }, copyButton('Copy JSON', () => text)),
    el('pre', { class: 'raw', tabindex: 0 }, text));
}

/** Whether the source computes what-if. */
export function offersWhatIf() {
  return store.hello.features.includes('what-if');
}
