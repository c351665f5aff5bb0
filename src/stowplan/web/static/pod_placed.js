// The page of a pod that is placed: sentence, points of winner and runner-up, thresholds, sliders for the weights.
import { categoryColour } from './colours.js';
import { byId, el, numberCells, replaceChildren, scrolledTable } from './dom.js';
import { commonPrefix, count, plural, shortNodeName, shortPlugin, trimmed } from './format.js';
import { map } from './map.js';
import { factRows, offersWhatIf, rawJson, requestsText, section, sentenceBox, workloadLink } from './pod_parts.js';
import { route } from './router.js';
import { labelOf, store } from './store.js';
import { weightSliders } from './weights.js';

/** The content of the panel below the head. */
export function placedPod(here, explanation) {
  const key = here.segments.join('/');
  queueMicrotask(() => replaceChildren(byId('pod-facts'), placedFacts(explanation)));
  return [
    el('div', { class: 'section' }, sentenceBox(explanation)),
    points(explanation),
    changes(explanation),
    ranking(explanation),
    section('Pod', '', factRows([
      ['node', el('a', { href: route('node', [explanation.node]) }, explanation.node)],
      ['requests', requestsText(explanation.pod.requests)],
      ['priority', explanation.pod.priority ? count(explanation.pod.priority) : null],
      ['scheduler', explanation.pod.scheduler],
    ])),
    weightSliders(key, explanation),
    el('div', { class: 'section buttons' },
      offersWhatIf() && el('a', { class: 'button', href: route('what-if', here.segments) }, 'What if…'),
      el('a', { class: 'button', href: route('matrix', here.segments) }, 'Nodes × plugins')),
    rawJson('Explanation as JSON', explanation, `stowplan explain ${key} -o json`),
  ];
}

function placedFacts(explanation) {
  const workload = workloadLink(explanation.pod);
  return [workload && 'of ', workload, workload && ', ', 'on ', el('a', { href: route('node', [explanation.node]) }, explanation.node)];
}

/** Names of the winner and the runner-up, without the start that they share or the value of a label. */
function shortNames(explanation) {
  const names = [explanation.winner || explanation.node, explanation.second].filter(Boolean);
  const prefix = commonPrefix(names);
  return names.map((name) => {
    const slot = store.nodes.slotOf.get(name);
    const value = slot === undefined ? '' : map.groups.map((key) => labelOf(key, slot)).find((text) => text && name.startsWith(`${text}-`));
    return shortNodeName(name, value ? `${value}-` : prefix);
  });
}

function points(explanation) {
  const list = explanation.points || [];
  if (!list.length) return null;
  const totals = [
    list.reduce((sum, plugin) => sum + plugin.winner.weighted, 0),
    list.reduce((sum, plugin) => sum + (plugin.second?.weighted || 0), 0),
  ];
  const most = Math.max(1, ...totals);
  const [winner, second] = shortNames(explanation);
  return section('Points', 'weighted',
    el('div', { class: 'waterfall' },
      stackRow(winner, list.map((plugin) => plugin.winner.weighted), list, totals[0], most),
      second && stackRow(second, list.map((plugin) => plugin.second?.weighted || 0), list, totals[1], most)),
    pointsTable(list));
}

function stackRow(name, values, list, total, most) {
  return el('div', { class: 'stack-row' },
    el('span', { class: 'mono', title: name }, name),
    el('span', { class: 'segments' }, values.map((value, i) => value > 0 && el('i', {
      title: `${list[i].plugin}: ${count(value)}`, style: { width: `${(100 * value) / most}%`, background: categoryColour(i) },
    }))),
    el('b', {}, count(total)));
}

function pointsTable(list) {
  return scrolledTable('Points by plugin', ['plugin', 'raw', '0–100', 'weight', 'points', '2nd', '±'], list.map((plugin, i) => {
    const difference = plugin.difference || 0;
    return el('tr', { title: [plugin.winner.text, plugin.second?.text].filter(Boolean).join(' — against ') },
      el('td', {}, el('i', { class: 'swatch', style: { background: categoryColour(i) } }), ` ${shortPlugin(plugin.plugin)}`),
      numberCells(trimmed(plugin.winner.raw, 2), plugin.winner.normalized, `×${plugin.weight}`, count(plugin.winner.weighted), plugin.second ? count(plugin.second.weighted) : '–'),
      el('td', { class: `number ${difference > 0 ? 'up' : difference < 0 ? 'down' : ''}` },
        difference > 0 ? `+${count(difference)}` : difference < 0 ? `−${count(-difference)}` : '0'));
  }), 'points');
}

/** What would have to change for another node to win. */
function changes(explanation) {
  const here = explanation.winner || explanation.node;
  const rows = (explanation.without || []).map((entry) => [
    `without ${entry.plugin}`,
    entry.wins === here ? `same node${entry.by ? `, by ${count(entry.by)}` : ', tied'}` : el('span', { class: 'fix' }, `${entry.wins} wins`),
  ]);
  for (const entry of explanation.thresholds || []) {
    rows.push([`${entry.plugin} ${weightWords(entry)}`, el('span', { class: 'fix' }, `${entry.wins} ${entry.draws ? 'draws level' : 'wins'}`)]);
  }
  if (!rows.length) return null;
  return section('What would have to change for another node to win', '', factRows(rows));
}

function weightWords(entry) {
  if (entry.atLeast && entry.atMost) return `weight ${entry.atLeast} to ${entry.atMost}`;
  if (entry.atLeast) return `weight ${entry.atLeast} or more`;
  return entry.atMost ? `weight ${entry.atMost} or less` : 'weight 0';
}

function ranking(explanation) {
  const list = explanation.ranking || [];
  if (!list.length) return null;
  const note = explanation.feasible ? `${count(explanation.feasible)} of ${plural(explanation.nodes, 'node')} would do` : '';
  return section('Best nodes', note, el('table', { class: 'table' }, el('tbody', {}, list.map((node) => el('tr', {},
    el('td', { class: 'number rank' }, String(node.rank)),
    el('td', {}, el('a', { class: 'mono', href: route('node', [node.node]) }, node.node), node.node === explanation.node && el('small', {}, ' its node')),
    el('td', { class: 'number' }, count(node.points)))))));
}

