// Colours of the map and of charts, for both themes: the sequential ramp, what refuses a pod, workloads, tokens of CSS.

export const RAMP_STEPS = 32;
const MAKO = ['#0b0405', '#2e1e3b', '#413d7b', '#37659e', '#348fa7', '#40b7ad', '#8bdab2', '#def5e5'];

/** Refusal families: the colour of a plugin's cells where it refuses the selected pod, light and dark. */
const FAMILIES = {
  selector: ['#a9c2de', '#375376'],
  taint: ['#b9a3cf', '#5a4577'],
  cordoned: ['#c3c9d3', '#3d4754'],
  spread: ['#7ab5ae', '#2d6c66'],
  affinity: ['#5f9ba4', '#24545f'],
  ports: ['#c9b7a4', '#5e4c3e'],
  volume: ['#d9a0bf', '#7c3f61'],
  device: ['#cf8fa3', '#83415a'],
  amount: ['#eddcc2', '#4a3a25'],
  less: ['#d99c45', '#8a5f1f'],
  near: ['#d96704', '#ffb03b'],
  other: ['#b0b8a0', '#4d573e'],
  fits: ['#2f9e60', '#4fd18b'],
};
const FAMILY_OF = {
  NodeAffinity: 'selector', NodeName: 'selector', NodeDeclaredFeatures: 'selector',
  TaintToleration: 'taint', NodeUnschedulable: 'cordoned',
  PodTopologySpread: 'spread', InterPodAffinity: 'affinity', NodePorts: 'ports',
  VolumeBinding: 'volume', VolumeZone: 'volume', VolumeRestrictions: 'volume', NodeVolumeLimits: 'volume',
  DynamicResources: 'device', NodeResourcesFit: 'amount',
};

/** Hues of workloads, priorities and plugins: lightness and chroma alike, text on them is dark. */
const CATEGORIES = [
  '#5b8fb9', '#c9a25b', '#7fb69d', '#d08a73', '#a497d2', '#8fae5b', '#c985b1', '#6fb3c4', '#b8a88f', '#9aa7c4',
  '#d3b04a', '#86a0a8',
];

function channels(colour) {
  const hex = colour.trim().replace('#', '');
  const full = hex.length === 3 ? [...hex].map((digit) => digit + digit).join('') : hex;
  return [0, 2, 4].map((start) => parseInt(full.slice(start, start + 2), 16));
}

/** The colour between two, as #rrggbb; `share` 0 is the first. */
export function mix(first, second, share) {
  const [a, b] = [channels(first), channels(second)];
  const hex = a.map((value, i) => Math.round(value + (b[i] - value) * share).toString(16).padStart(2, '0'));
  return `#${hex.join('')}`;
}

function mako(at) {
  const place = Math.min(Math.max(at, 0), 1) * (MAKO.length - 1);
  const index = Math.min(Math.floor(place), MAKO.length - 2);
  return mix(MAKO[index], MAKO[index + 1], place - index);
}

/** The sequential ramp: the fuller, the more a cell stands out from the background. */
export function ramp(dark) {
  const [start, end] = dark ? [0.3, 0.87] : [0.97, 0.285];
  return Array.from({ length: RAMP_STEPS }, (_, i) => {
    const at = i / (RAMP_STEPS - 1);
    const colour = mako(start + (end - start) * at);
    return dark ? mix(colour, '#1c2c40', 0.75 * (1 - at) ** 2) : colour;
  });
}

/** Diverging colours of a difference: brown emptier, grey equal, teal fuller. */
export function diverging(dark) {
  const [low, middle, high] = dark ? ['#d8a05a', '#2a323c', '#4cc7bb'] : ['#a0621a', '#dfe3e8', '#0f766e'];
  return Array.from({ length: RAMP_STEPS }, (_, i) => {
    const share = (2 * i) / (RAMP_STEPS - 1) - 1;
    return share < 0 ? mix(middle, low, -share) : mix(middle, high, share);
  });
}

export function rampStep(share) {
  return Math.min(RAMP_STEPS - 1, Math.max(0, Math.floor(share * RAMP_STEPS)));
}

/** The name of a plugin's family of refusals. */
export function familyOf(plugin) {
  return FAMILY_OF[plugin] || 'other';
}

export function familyColour(family, dark) {
  return FAMILIES[family][dark ? 1 : 0];
}

export function categoryColour(index) {
  return CATEGORIES[index % CATEGORIES.length];
}

/** A stable colour of a name, so that a workload keeps its colour in every view. */
export function colourOfName(name) {
  let hash = 2166136261;
  for (let i = 0; i < name.length; i += 1) hash = Math.imul(hash ^ name.charCodeAt(i), 16777619);
  return categoryColour((hash >>> 0) % CATEGORIES.length);
}

/** Colours of the style sheet that the canvas needs; read again when the theme changes. */
export function themeTokens() {
  const style = getComputedStyle(document.documentElement);
  const read = (name) => style.getPropertyValue(name).trim();
  return {
    dark: read('--dark') === '1',
    ground: read('--ground'), card: read('--card'), line: read('--line'), track: read('--track'), text: read('--text'),
    quiet: read('--quiet'), alarm: read('--alarm'), accent: read('--accent'), hatch: read('--hatch'),
    font: read('--font'), active: read('--active'), backoff: read('--backoff'), unschedulable: read('--unschedulable'),
    gated: read('--gated'), rate: read('--rate'),
  };
}
