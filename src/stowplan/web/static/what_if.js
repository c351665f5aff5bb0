// What-if: a list of changes, the run of a copy of the state with them, and the difference that they make.
import { copyButton, el, replaceChildren, select } from './dom.js';
import { count, plural } from './format.js';
import { getJson, postJson } from './net.js';
import { podRoute } from './panel.js';
import { folded, section } from './pod_parts.js';
import { loadPods } from './pods.js';
import { route } from './router.js';
import { runMapSwitch } from './run_maps.js';
import { store } from './store.js';
import { differenceTable, figuresTable } from './run_tables.js';

const POLL_MILLISECONDS = 300;
const MAX_SUGGESTED = 2000;
const MAX_WEIGHT = 20;

/** The kinds of changes: option, text, and the fields `[name, placeholder, list]`. */
const KINDS = [
  { option: 'drain', text: 'Drain a node', fields: [['Node, or label=value', '', 'nodes']] },
  { option: 'fail', text: 'Lose a node', fields: [['Node, or label=value', '', 'nodes']] },
  { option: 'add', text: 'Add nodes', fields: [['Number', '1', ''], ['Like this node', '', 'nodes']] },
  { option: 'cordon', text: 'Cordon a node', fields: [['Node, or label=value', '', 'nodes']] },
  { option: 'uncordon', text: 'Uncordon a node', fields: [['Node, or label=value', '', 'nodes']] },
  { option: 'scale', text: 'Scale a workload', fields: [['Workload', '', 'workloads'], ['Replicas', '1', '']] },
  { option: 'set', text: 'Change requests', fields: [['Workload or pod', '', 'workloads'], ['Requests', 'cpu=1,memory=1Gi', '']] },
  { option: 'weight', text: 'Change a weight', fields: [['Plugin', '', 'plugins'], ['Weight', '1', 'slider']] },
  { option: 'apply', text: 'Apply manifests', fields: [['Manifests as YAML', '', 'text']] },
  { option: 'again', text: 'Place pods again', fields: [['Namespace, workload, or all', 'all', 'workloads']] },
];

export const whatIfView = {
  name: 'what-if',
  layout: 'panel',
  title: () => 'What if',
  open(here, signal) {
    const { features } = store.hello;
    if (!features.includes('what-if')) {
      if (features.includes('compare')) showKept(here, signal);
      else replaceChildren(here.place, el('div', { class: 'section' }, el('h1', {}, 'What if'), el('p', { class: 'quiet' }, 'This source offers no what-if; start stowplan web on its files or a snapshot.')));
      return;
    }
    const state = { changes: startChanges(here), form: el('div', { class: 'change-form' }), list: el('ol', { class: 'changes' }), answer: el('div', {}), signal };
    const run = el('button', { type: 'button', class: 'button primary', id: 'run-what-if', onclick: () => start(state, run) }, 'Run');
    replaceChildren(here.place, el('div', { class: 'section' },
      el('h1', {}, 'What if'), el('p', { class: 'quiet' }, 'Computed on a copy, in this process. Nothing changes in a cluster.'),
      state.list, state.form, el('p', { class: 'actions' }, run)), state.answer);
    drawChanges(state);
    drawForm(state, KINDS[0].option);
  },
};

/** Changes that the address asks for: a drain of a node, or other requests of a pod. */
function startChanges(here) {
  const drain = here.query.get('drain');
  return drain ? [{ option: 'drain', value: [drain] }] : [];
}

function changeText({ option, value }) {
  const kind = KINDS.find((each) => each.option === option);
  if (option === 'add') return `${kind.text}: ${value[0]} like ${value[1]}`;
  if (option === 'apply') return `${kind.text}: ${kindsOf(value[0])}`;
  return `${kind.text}: ${value.join(' ')}`;
}

/** "Deployment, Service": the kinds of pasted manifests. */
function kindsOf(text) {
  const kinds = [...text.matchAll(/^[\s"'-]*kind["']?:\s*["']?(\w+)/gm)].map(([, name]) => name);
  return [...new Set(kinds)].join(', ') || plural(text.split('\n').length, 'line');
}

function drawChanges(state) {
  replaceChildren(state.list, state.changes.map((change, i) => el('li', {}, el('span', {}, changeText(change)),
    el('button', {
      type: 'button', class: 'link', 'aria-label': `Remove: ${changeText(change)}`,
      onclick: () => {
        state.changes.splice(i, 1);
        drawChanges(state);
      },
    }, 'Remove'))));
}

async function drawForm(state, option) {
  const kind = KINDS.find((each) => each.option === option);
  const inputs = kind.fields.map(([name, text, list]) => fieldOf(name, text, list));
  const add = el('button', { type: 'button', class: 'button', id: 'add-change', onclick: () => addChange(state, kind, inputs) }, 'Add change');
  const choice = select('Kind of change', KINDS.map((each) => [each.option, each.text]), option, (value) => drawForm(state, value));
  replaceChildren(state.form, choice, inputs.map((input) => input.element || input), add, el('p', { class: 'problem', role: 'alert' }));
  for (const input of inputs) (input.element || input).addEventListener('keydown', (event) => { if (event.key === 'Enter' && event.target.tagName !== 'TEXTAREA') add.click(); });
  for (const [, , list] of kind.fields) if (!(list in FIELDS) && list) state.form.append(await suggestions(list));
}

const FIELDS = {
  slider: weightSlider,
  text: (name) => el('textarea', { 'aria-label': name, placeholder: name, rows: 8, spellcheck: 'false', class: 'mono' }),
};

function fieldOf(name, text, list) {
  return FIELDS[list]?.(name) ?? el('input', { type: 'text', 'aria-label': name, placeholder: name, value: text, list: list ? `list-${list}` : null, autocomplete: 'off' });
}

function weightSlider(name) {
  const output = el('output', {}, '1');
  const input = el('input', { type: 'range', min: 1, max: MAX_WEIGHT, step: 1, value: 1, 'aria-label': name, oninput: () => { output.textContent = input.value; } });
  return { element: el('span', { class: 'weight' }, input, output), get value() { return input.value; } };
}

async function suggestions(list) {
  let values = [];
  if (list === 'nodes') values = store.nodes.names.filter(Boolean);
  else if (list === 'plugins') {
    const config = await getJson('config').catch(() => null);
    values = config ? config.profiles.flatMap((profile) => (profile.points.score || []).map((each) => each.plugin)) : [];
  } else {
    const pods = await loadPods().catch(() => null);
    const pending = (store.lastPending?.groups || []).flatMap((group) => Object.keys(group.workloads));
    values = [...new Set([...pending, ...(pods?.workloads || [])])].filter((name) => name && !name.endsWith('/'));
  }
  return el('datalist', { id: `list-${list}` }, values.slice(0, MAX_SUGGESTED).map((value) => el('option', { value })));
}

function addChange(state, kind, inputs) {
  const values = inputs.map((input) => input.value.trim());
  const problem = state.form.querySelector('.problem');
  if (values.some((value) => !value)) {
    problem.textContent = 'Fill in all fields.';
    return;
  }
  problem.textContent = '';
  const joined = kind.option === 'scale' || kind.option === 'weight' ? [values.join('=')] : values;
  state.changes.push({ option: kind.option, value: joined });
  if (kind.option === 'weight' && !state.changes.some((change) => change.option === 'again')) state.changes.push({ option: 'again', value: ['all'] });
  drawChanges(state);
}

async function start(state, button) {
  const { answer, signal } = state;
  button.disabled = true;
  replaceChildren(answer, el('p', { class: 'section quiet', role: 'status' }, 'Computing…'));
  try {
    const { id } = await postJson('what-if', { changes: state.changes });
    await follow(id, answer, signal);
  } catch (error) {
    if (!signal.aborted) replaceChildren(answer, el('p', { class: 'section problem', role: 'alert' }, error.message));
  }
  button.disabled = false;
}

async function follow(id, place, signal) {
  while (!signal.aborted) {
    const run = await getJson(`run/${encodeURIComponent(id)}`);
    if (run.state !== 'running') {
      await showRun(run, place, signal);
      return;
    }
    replaceChildren(place, el('p', { class: 'section quiet', role: 'status' }, `Computing: ${plural(run.attempts, 'attempt')} so far…`));
    await new Promise((done) => { setTimeout(done, POLL_MILLISECONDS); });
  }
}

/** The answer of a finished run: sentence, map switch, tables, command. */
async function showRun(run, place, signal) {
  if (run.state === 'failed') {
    replaceChildren(place, el('p', { class: 'section problem', role: 'alert' }, run.message));
    return;
  }
  const maps = await getJson(`run/${encodeURIComponent(run.id)}/maps`);
  if (signal.aborted) return;
  const { answer } = run;
  replaceChildren(place,
    el('div', { class: 'section' }, el('div', { class: 'sentence', id: 'what-if-sentence' }, run.sentence), runMapSwitch(maps, signal)),
    differenceTable(answer.workloads),
    answer.evicted.length > 0 && section('Evicted', plural(answer.evicted.length, 'pod'), el('ul', { class: 'plain' }, answer.evicted.slice(0, 50).map((each) => el('li', {}, el('a', { class: 'mono', href: podRoute(each.pod) }, each.pod), ` on ${each.node} for ${each.preemptor}`)))),
    answer.lost.length > 0 && section('Lost', plural(answer.lost.length, 'pod'), el('p', { class: 'mono' }, answer.lost.join(', '))),
    answer.budgets.length > 0 && section('Budgets in the way', '', el('ul', { class: 'plain' }, answer.budgets.map((each) => el('li', {}, `${each.budget} allows ${count(each.allowed)}; ${plural(each.pods, 'pod')} have to leave`)))),
    figuresTable(run),
    run.command && section('The same on the command line', '', el('pre', { class: 'command', tabindex: 0 }, run.command), copyButton('Copy', () => run.command)),
    counted(answer) ? section('Counted', '', el('pre', { tabindex: 0 }, run.text.join('\n'))) : folded('As the command prints it', el('pre', { tabindex: 0 }, run.text.join('\n'))),
    el('p', { class: 'section' }, el('a', { class: 'button', href: route('compare', [run.id]) }, 'Compare side by side')));
}

/** Whether the question was how many replicas fit, how many nodes are enough, or which can go. */
function counted(answer) {
  return answer.fit || answer.enough.length > 0 || answer.removable;
}

/** A report shows the run that it contains. */
async function showKept(here, signal) {
  const [run] = await getJson('compare');
  replaceChildren(here.place, el('div', { class: 'section' }, el('h1', {}, 'What if')));
  const place = el('div', {});
  here.place.append(place);
  await showRun(await getJson(`run/${encodeURIComponent(run.id)}`), place, signal);
}
