// Figures and times as text: thousands with commas, Kubernetes' quantities, durations, names without common parts.

const BINARY = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi'];

export function count(number) {
  return Math.round(number).toLocaleString('en-US');
}

/** "1 node", "5,000 nodes". */
export function plural(number, noun) {
  return `${count(number)} ${noun}${number === 1 ? '' : 's'}`;
}

export function isBytes(resource) {
  return resource === 'memory' || resource === 'ephemeral-storage' || resource.startsWith('hugepages-');
}

/** An amount of a resource: millicores as CPUs, bytes with binary suffixes, counts as they are. */
export function amount(resource, value) {
  if (resource === 'cpu') return trimmed(value / 1000, 3);
  if (!isBytes(resource)) return count(value);
  let power = 0;
  let rest = value;
  while (Math.abs(rest) >= 1024 && power < BINARY.length - 1) {
    rest /= 1024;
    power += 1;
  }
  const digits = rest >= 100 ? 0 : 2;
  return BINARY[power] ? `${trimmed(rest, digits)} ${BINARY[power]}` : trimmed(rest, 0);
}

/** "11.95 / 16" or "105 / 128 Gi". */
export function amountOf(resource, used, whole) {
  const [left, right] = [amount(resource, used), amount(resource, whole)];
  const unit = right.split(' ')[1];
  return unit && left.endsWith(` ${unit}`) ? `${left.slice(0, -unit.length - 1)} / ${right}` : `${left} / ${right}`;
}

export function trimmed(number, digits) {
  return String(Number(number.toFixed(digits)));
}

export function percent(part, whole) {
  return whole > 0 ? Math.round((100 * part) / whole) : 0;
}

/** The short name of a resource: `gpu` for `nvidia.com/gpu`. */
export function resourceName(resource) {
  return resource.includes('/') ? resource.slice(resource.lastIndexOf('/') + 1) : resource;
}

/** "38 s", "17 min", "3 h", "2 d". */
export function duration(seconds) {
  const whole = Math.max(0, seconds);
  if (whole < 10) return `${trimmed(whole, 1)} s`;
  if (whole < 100) return `${Math.round(whole)} s`;
  if (whole < 100 * 60) return `${Math.round(whole / 60)} min`;
  if (whole < 48 * 3600) return `${Math.round(whole / 3600)} h`;
  return `${Math.round(whole / 86400)} d`;
}

/** "1:30:00", "3 d 4:00". */
export function clock(seconds) {
  const whole = Math.max(0, Math.round(seconds));
  const [minutes, rest] = [Math.floor(whole / 60) % 60, whole % 60].map((part) => String(part).padStart(2, '0'));
  const time = `${Math.floor((whole % 86400) / 3600)}:${minutes}`;
  return whole < 86400 ? `${time}:${rest}` : `${Math.floor(whole / 86400)} d ${time}`;
}

/** The time of day in the viewer's zone. */
export function timeOfDay(date) {
  return date.toLocaleTimeString('en-GB');
}

/** A timestamp with the zone's offset, for titles. */
export function fullTime(date) {
  return `${date.toLocaleDateString('en-CA')} ${date.toLocaleTimeString('en-GB', { timeZoneName: 'shortOffset' })}`;
}

/** Seconds from an RFC 3339 timestamp to `now`, in milliseconds since the epoch; null without a timestamp. */
export function ageOf(timestamp, now) {
  const then = Date.parse(timestamp || '');
  return Number.isNaN(then) ? null : (now - then) / 1000;
}

/** A label's key without its prefix: `zone`, `instance-type`. */
export function labelName(key) {
  return key.slice(key.lastIndexOf('/') + 1);
}

/** A node's name without the start that all names of its group share, cut at a dash or dot. */
export function shortNodeName(name, prefix) {
  return prefix && name.startsWith(prefix) && name.length > prefix.length ? name.slice(prefix.length) : name;
}

/** The longest common start of names that ends with a dash or dot. */
export function commonPrefix(names) {
  if (names.length < 2) return '';
  let end = names[0].length;
  for (const name of names) {
    while (end && !name.startsWith(names[0].slice(0, end))) end -= 1;
  }
  const start = names[0].slice(0, end);
  return start.slice(0, Math.max(start.lastIndexOf('-'), start.lastIndexOf('.')) + 1);
}

/** Orders names as people do: node-2 before node-10. */
export const naturalOrder = new Intl.Collator('en', { numeric: true }).compare;

/** "shop/Deployment/checkout" as "shop/checkout". */
export function shortWorkload(workload) {
  const parts = workload.split('/');
  return parts.length === 3 ? `${parts[0]}/${parts[2]}` : workload;
}

/** A plugin's name, where there is little room. */
export function shortPlugin(name) {
  return name.replace(/^NodeResourcesBalanced/, 'Balanced');
}

export const VERDICTS = {
  never: 'never fits', 'not-now': 'not now', waiting: 'waiting', fits: 'fits', gated: 'gated', preempting: 'making room',
};

/** The class of a verdict's badge, by the verdict and the pod's state. */
export function verdictClass(group) {
  if (group.state === 'gated') return 'gated';
  if (group.because === 'preempting' || (group.because && group.because.id === 'preempting')) return 'preempting';
  return group.verdict;
}
