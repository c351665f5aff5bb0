// The panel beside the map on the home view: pending pods by sentence.
import { familyColour, familyOf } from './colours.js';
import { byId, el, patchList, replaceChildren } from './dom.js';
import { VERDICTS, ageOf, count, duration, plural, shortWorkload, verdictClass } from './format.js';
import { route } from './router.js';
import { store, subscribe } from './store.js';
import { isDark } from './theme.js';

const MAX_LISTED_GROUPS = 40;
const REASON_FAMILIES = [
  [/^resources|^pods\.too-many/, 'amount'], [/^affinity|^node\.name|^features/, 'selector'], [/^taint/, 'taint'],
  [/^node\.cordoned|^gate|^permit|^other-sched/, 'cordoned'], [/^spread/, 'spread'], [/anti-affinity|^pod-affinity/, 'affinity'],
  [/^ports/, 'ports'], [/^volume|^claim\.(?!device)|^disk/, 'volume'], [/^device|^claim\.device|^class/, 'device'],
  [/^preempting/, 'fits'],
];

/** The colour of a group by the id of its dominating reason. */
export function reasonColour(because, dark) {
  const found = REASON_FAMILIES.find(([pattern]) => pattern.test(because || ''));
  return familyColour(found ? found[1] : familyOf(because), dark);
}

/** Seconds since a timestamp, by the clock of the source; null without one, and in runs whose time is attempts. */
export function ageNow(timestamp) {
  return store.hello?.unit === 'attempts' ? null : ageOf(timestamp, sourceNow());
}

/** The time of the source in milliseconds since 1970. */
function sourceNow() {
  const { hello, nodes, queue } = store;
  if (!hello) return Date.now();
  if (!hello.start) return hello.kind === 'snapshot' ? (nodes?.time || 0) * 1000 || Date.now() : Date.now();
  return (hello.start + (queue?.time ?? store.run?.time ?? hello.time ?? 0)) * 1000;
}

/** The address of a pod's page. */
export function podRoute(key, query) {
  const slash = key.indexOf('/');
  return route('pod', [key.slice(0, slash), key.slice(slash + 1)], query);
}

export function verdictBadge(group) {
  const kind = verdictClass(group);
  return el('span', { class: `verdict ${kind}` }, VERDICTS[kind] || kind);
}

export const mapView = {
  name: 'map',
  layout: 'panel',
  title: () => 'Map',
  open(here, signal) {
    const draw = () => { if (!signal.aborted) drawPanel(here.place); };
    const end = subscribe('pending', draw);
    signal.addEventListener('abort', end);
    draw();
  },
};

function drawPanel(place) {
  const { pending, pendingProblem: problem } = store;
  if (!pending) {
    replaceChildren(place, el('div', { class: 'panel-head' }, el('h1', {}, 'Pending pods'), el('p', { class: 'quiet' }, problem ? `The list is not available: ${problem}` : 'Loading…')));
    return;
  }
  if (!byId('panel-groups')) {
    replaceChildren(place,
      el('div', { class: 'panel-head' },
        el('h1', { id: 'panel-title' }), el('p', { class: 'quiet', id: 'panel-summary' }),
        el('div', { class: 'stack', id: 'panel-stack', 'aria-hidden': 'true' })),
      el('ul', { class: 'groups', id: 'panel-groups', 'aria-labelledby': 'panel-title' }),
      el('p', { class: 'more', id: 'panel-more' }));
  }
  const { groups, pods } = pending;
  byId('panel-title').textContent = pods ? `${plural(pods, 'pod')} ${pods === 1 ? 'is' : 'are'} pending` : 'No pod is pending';
  byId('panel-summary').textContent = summary(groups, pending.moreGroups || 0);
  drawStack(byId('panel-stack'), groups);
  patchList(byId('panel-groups'), groups.slice(0, MAX_LISTED_GROUPS), (group) => group.id, groupItem);
  const more = groups.length + (pending.moreGroups || 0) - MAX_LISTED_GROUPS;
  replaceChildren(byId('panel-more'), more > 0 && el('a', { href: '#/pending' }, `${plural(more, 'more reason')} on the Pending page`));
}

function summary(groups, moreGroups) {
  if (!groups.length) return 'Every pod has a node.';
  const never = groups.filter((group) => group.verdict === 'never').reduce((sum, group) => sum + group.pods, 0);
  const reasons = plural(groups.length + moreGroups, 'reason');
  return never ? `${reasons}; ${plural(never, 'pod')} will never fit as things are` : reasons;
}

/** A bar whose segments are the groups. */
export function drawStack(place, groups) {
  const dark = isDark();
  const whole = groups.reduce((sum, group) => sum + group.pods, 0) || 1;
  replaceChildren(place, groups.slice(0, 24).map((group) => el('i', {
    title: `${count(group.pods)}: ${group.sentence}`,
    style: { 'flex-grow': String(Math.max(0.6, (100 * group.pods) / whole)), background: reasonColour(group.because, dark) },
  })));
}

function groupItem(group, previous) {
  const item = previous || el('li', {});
  const content = JSON.stringify([group, Math.floor(sourceNow() / 10000)]);
  if (item.stamp === content) return item;
  item.stamp = content;
  const age = ageNow(group.since);
  const names = Object.keys(group.workloads || {}).map(shortWorkload);
  const workloads = names.length > 2 ? `${names[0]} and ${plural(names.length - 1, 'more workload')}` : names.join(', ');
  const link = el('a', { class: 'group', href: group.sample?.length ? podRoute(group.sample[0], { group: group.id }) : '#/pending' },
    el('span', { class: 'group-count' }, count(group.pods)),
    el('span', { class: 'group-body' },
      el('span', { class: 'group-sentence' }, group.sentence),
      el('span', { class: 'group-facts' },
        verdictBadge(group), el('span', { class: 'group-workload' }, workloads),
        age !== null && el('span', { class: 'group-age' }, `oldest ${duration(age)}`))));
  const old = item.firstChild;
  const focused = old && old === document.activeElement;
  replaceChildren(item, link);
  if (focused) link.focus();
  return item;
}
