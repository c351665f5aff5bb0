// What the colour of a cell means: for each mode a bucket of a palette by slot, a fill height, a legend and words.
import { categoryColour, colourOfName, diverging, familyColour, familyOf, mix, ramp, rampStep } from './colours.js';
import { amount, count, duration, plural, resourceName, shortWorkload } from './format.js';
import { podsOfNode } from './pods.js';
import { fullest, share, store } from './store.js';

const UNKNOWN = 0;
const MAX_AGE_SECONDS = 30 * 86400;

/** The modes that are offered now, as `[value, text]`. */
export function colourModes() {
  const modes = [['fullest', 'fullest resource']];
  for (const resource of store.nodes.resources) {
    modes.push([`resource:${resource}`, resource === 'pods' ? 'number of pods' : resourceName(resource)]);
  }
  modes.push(['fragmentation', 'fragmentation']);
  if (store.pod?.fit) modes.push(['refuses', 'what refuses the pod']);
  if (store.pod?.points) modes.push(['points', 'points for the pod']);
  modes.push(['workload', 'largest workload'], ['priority', 'highest priority'], ['age', 'age']);
  if (store.overlay) modes.push(['overlay', store.overlay.text]);
  else modes.push(['change', 'change since loaded']);
  return modes;
}

/** The colouring of a mode: `{bucket, level, palette, legend, words(slot)}`. */
export function colouring(mode, dark) {
  const [kind, detail] = mode.split(/:(.*)/s);
  const make = MODES[kind] || MODES.fullest;
  return make(dark, detail);
}

function levels(dark, valueOf, legend, words) {
  const { length } = store.nodes;
  const level = new Float32Array(length);
  const bucket = new Uint8Array(length);
  const set = (slot) => {
    level[slot] = valueOf(slot);
    bucket[slot] = rampStep(level[slot]);
  };
  for (let slot = 0; slot < length; slot += 1) set(slot);
  const palette = ramp(dark);
  return { bucket, level, palette, set, words, legend: { ramp: palette, ...legend } };
}

function categories(palette, bucketOf, items, words) {
  const bucket = new Uint8Array(store.nodes.length);
  const set = (slot) => { bucket[slot] = bucketOf(slot); };
  for (let slot = 0; slot < bucket.length; slot += 1) set(slot);
  return { bucket, level: null, palette, set, words, legend: { items } };
}

const MODES = {
  fullest: (dark) => levels(dark, fullest, { low: 'empty', high: 'full' }, null),
  resource: (dark, resource) => levels(
    dark, (slot) => share(resource, slot), { low: `no ${resourceName(resource)}`, high: 'all requested' }, null,
  ),
  fragmentation: (dark) => levels(
    dark,
    (slot) => Math.abs(share('cpu', slot) - share('memory', slot)),
    { low: 'cpu and memory alike', high: 'one is left over' },
    (slot) => `${Math.round(100 * Math.abs(share('cpu', slot) - share('memory', slot)))} % apart`,
  ),
  age: (dark) => {
    const now = Date.now() / 1000;
    const age = (slot) => (store.nodes.created[slot] ? Math.max(0, now - store.nodes.created[slot]) : 0);
    const scaled = (slot) => Math.log1p(age(slot)) / Math.log1p(MAX_AGE_SECONDS);
    const words = (slot) => (store.nodes.created[slot] ? `${duration(age(slot))} old` : 'age unknown');
    return levels(dark, (slot) => Math.min(1, scaled(slot)), { low: 'new', high: '30 days' }, words);
  },
  change: (dark) => {
    store.baseline ||= new Float32Array(store.nodes.length).map((_, slot) => fullest(slot));
    const change = (slot) => fullest(slot) - (store.baseline[slot] || 0);
    return differences(dark, change, 'emptier', 'fuller');
  },
  overlay: (dark) => (
    store.overlay
      ? differences(dark, (slot) => store.overlay.values[slot] || 0, store.overlay.low, store.overlay.high)
      : MODES.fullest(dark)
  ),
  refuses: (dark) => (store.pod?.fit ? refusals(dark, store.pod.fit) : MODES.fullest(dark)),
  points: (dark) => (store.pod?.points ? totals(dark, store.pod.points) : MODES.fullest(dark)),
  workload: (dark) => byPods(dark, (slot) => {
    const [first] = podsOfNode(slot);
    return first === undefined ? '' : store.pods.workloads[store.pods.workload[first]];
  }, workloadColour),
  priority: (dark) => {
    const palette = ['#9aa7c4', '#5b8fb9', '#8fae5b', '#d3b04a', '#d08a73', '#c985b1'];
    const values = [...new Set(store.pods?.priority || [])].sort((a, b) => a - b);
    const colour = (name) => palette[Math.min(palette.length - 1, values.indexOf(Number(name.replace(/,/g, ''))))];
    return byPods(dark, (slot) => {
      const highest = Math.max(...podsOfNode(slot).map((pod) => store.pods.priority[pod]));
      return Number.isFinite(highest) ? count(highest) : '';
    }, (name) => colour(name) || palette[0]);
  },
};

function differences(dark, change, low, high) {
  const palette = diverging(dark);
  const set = (slot) => rampStep((Math.max(-1, Math.min(1, change(slot) * 2)) + 1) / 2);
  const words = (slot) => `${change(slot) >= 0 ? '+' : '−'}${Math.abs(Math.round(100 * change(slot)))} %`;
  const result = categories(palette, set, [], words);
  result.legend = { ramp: palette, low, high };
  return result;
}

function byPods(dark, nameOf, colour) {
  const track = dark ? '#1a222c' : '#e2e7ec';
  const names = [''];
  const counts = new Map();
  const bucketOf = (slot) => {
    const name = nameOf(slot);
    let at = names.indexOf(name);
    if (at < 0 && names.length < 250) at = names.push(name) - 1;
    counts.set(name, (counts.get(name) || 0) + 1);
    return Math.max(0, at);
  };
  const result = categories([], bucketOf, [], (slot) => shortWorkload(nameOf(slot)) || 'no pods');
  result.palette.push(track, ...names.slice(1).map(colour));
  const top = [...counts].filter(([name]) => name).sort((a, b) => b[1] - a[1]).slice(0, 5);
  result.legend.items = top.map(([name, nodes]) => ({ colour: colour(name), text: shortWorkload(name), nodes }));
  return result;
}

/** What refuses the selected pod: a colour for each step of the funnel, amounts in three depths, near misses. */
function refusals(dark, fit) {
  const palette = [dark ? '#1a222c' : '#e2e7ec', familyColour('fits', dark)];
  const near = new Set(fit.near);
  const lacking = lackShares(fit);
  const steps = fit.steps.map((step, i) => palette.push(stepColour(fit, i, dark)) - 1);
  const less = palette.push(familyColour('less', dark)) - 1;
  const nearest = palette.push(familyColour('near', dark)) - 1;
  const bucketOf = (slot) => {
    const step = fit.step[slot] ?? -1;
    if (step < 0) return UNKNOWN;
    if (step === 0) return 1;
    if (near.has(slot)) return nearest;
    if (fit.steps[step - 1].kind === 'amount' && lacking.get(slot) <= 1 / 3) return less;
    return steps[step - 1];
  };
  const result = categories(palette, bucketOf, [], (slot) => refusalWords(fit, near, slot));
  result.legend.items = refusalLegend(fit, dark, result.bucket, less, nearest);
  return result;
}

/** The colour of a step; steps of the same family differ in lightness. */
export function stepColour(fit, index, dark) {
  const family = familyOf(fit.steps[index].plugin);
  const before = fit.steps.slice(0, index).filter((step) => familyOf(step.plugin) === family).length;
  return mix(familyColour(family, dark), dark ? '#ffffff' : '#1b2430', Math.min(0.4, before * 0.16));
}

/** By slot: the largest share of a request that the node lacks. */
export function lackShares(fit) {
  const shares = new Map();
  const requests = store.pod?.explanation?.pod?.requests || {};
  for (const [resource, { slot, amount: amounts }] of Object.entries(fit.lacks)) {
    const wanted = requests[resource] || 0;
    slot.forEach((node, i) => {
      const lack = wanted > 0 ? amounts[i] / wanted : 1;
      shares.set(node, Math.max(shares.get(node) || 0, lack));
    });
  }
  return shares;
}

function refusalWords(fit, near, slot) {
  const step = fit.step[slot] ?? -1;
  if (step < 0) return '';
  if (step === 0) return 'Fits.';
  const { plugin } = fit.steps[step - 1];
  const lacks = Object.entries(fit.lacks).flatMap(([resource, column]) => {
    const at = column.slot.indexOf(slot);
    return at < 0 ? [] : [`${amount(resource, column.amount[at])} ${resourceName(resource)}`];
  });
  const words = lacks.length && fit.steps[step - 1].kind === 'amount' ? `Lacks ${lacks.join(' and ')}.` : `${plugin} rejects it.`;
  return near.has(slot) ? `Near miss: ${words[0].toLowerCase()}${words.slice(1)}` : words;
}

function refusalLegend(fit, dark, bucket, less, nearest) {
  const counts = new Array(256).fill(0);
  for (const value of bucket) counts[value] += 1;
  const items = [];
  if (counts[1]) items.push({ colour: familyColour('fits', dark), text: 'fits', nodes: counts[1] });
  if (counts[nearest]) items.push({ colour: familyColour('near', dark), text: plural(counts[nearest], 'near miss').replace('misss', 'misses') });
  if (counts[less]) items.push({ colour: familyColour('less', dark), text: 'lacks up to a third' });
  fit.steps.forEach((step, i) => {
    if (!counts[i + 2]) return;
    const text = step.kind === 'amount' && counts[less] + counts[nearest] ? 'lacks more' : step.plugin;
    items.push({ colour: stepColour(fit, i, dark), text, nodes: counts[i + 2] });
  });
  return items;
}

/** Totals of points: the best nodes stand out; nodes that would not do are in the track's colour. */
function totals(dark, points) {
  const best = points.total[0] ?? 0;
  const worst = points.total[points.total.length - 1] ?? 0;
  const totalOf = new Map(points.slot.map((slot, i) => [slot, points.total[i]]));
  const track = dark ? '#141b23' : '#e9edf1';
  const palette = [track, ...ramp(dark)];
  const scaled = (total) => (best > worst ? (total - worst) / (best - worst) : 1);
  const bucketOf = (slot) => (totalOf.has(slot) ? 1 + rampStep(scaled(totalOf.get(slot))) : 0);
  const words = (slot) => (totalOf.has(slot) ? `${count(totalOf.get(slot))} points` : 'Not feasible for the pod.');
  const result = categories(palette, bucketOf, [], words);
  result.legend = { ramp: palette.slice(1), low: `${count(worst)} points`, high: count(best) };
  return result;
}

/** The colour of a workload, the same in all views: by its rank once pods are loaded, before that by its name. */
export function workloadColour(name) {
  const rank = store.pods?.rank.get(name);
  return rank === undefined ? colourOfName(name) : categoryColour(rank);
}

/** Colours of the pods of a card, by workload. */
export function podColour(pod) {
  return workloadColour(store.pods.workloads[store.pods.workload[pod]]);
}

