// The Config page: plugins by extension point in order, weights, arguments; what differs from the default is bold.
import { copyButton, el, replaceChildren } from './dom.js';
import { count } from './format.js';
import { getJson } from './net.js';

export const configView = {
  name: 'config',
  layout: 'page',
  title: () => 'Config',
  async open(here, signal) {
    replaceChildren(here.place, el('div', { class: 'page-head' }, el('h1', {}, 'Configuration')), el('p', { class: 'section quiet' }, 'Loading…'));
    try {
      const config = await getJson('config');
      if (!signal.aborted) replaceChildren(here.place, draw(config));
    } catch (error) {
      if (!signal.aborted) replaceChildren(here.place, el('p', { class: 'section' }, error.message));
    }
  },
};

function draw(config) {
  return [
    el('div', { class: 'page-head' }, el('h1', {}, 'Configuration'),
      el('p', { class: 'quiet' }, 'What differs from the default is bold.'),
      el('div', { class: 'controls' }, copyButton('Copy as YAML', () => config.yaml))),
    config.profiles.map(profileSection),
    el('section', { class: 'section' }, el('h2', {}, 'Everything else'), el('dl', { class: 'facts' },
      el('div', {}, el('dt', {}, 'percentageOfNodesToScore'), el('dd', {}, config.percentageOfNodesToScore ? `${config.percentageOfNodesToScore} %` : 'adaptive (0)')),
      el('div', {}, el('dt', {}, 'extenders'), el('dd', {}, config.extenders.join(', ') || 'none')))),
    el('details', { class: 'section fold' }, el('summary', {}, 'As YAML'), el('pre', { class: 'raw', tabindex: 0 }, config.yaml)),
  ];
}

function profileSection(profile) {
  const points = Object.entries(profile.points).filter(([, plugins]) => plugins.length);
  return el('section', { class: 'section' }, el('h2', { class: 'mono' }, profile.schedulerName),
    el('div', { class: 'points-grid' }, points.map(([point, plugins]) => pointBox(point, plugins, profile))),
    argumentTable(profile));
}

function pointBox(point, plugins, profile) {
  const most = Math.max(1, ...plugins.map((plugin) => plugin.weight));
  const removed = profile.removed[point] || [];
  return el('div', { class: 'point-box' }, el('h3', {}, point), el('ol', {}, plugins.map((plugin) => el('li', {},
    el(plugin.default ? 'span' : 'b', {}, plugin.plugin.split(/(?=[A-Z][a-z])/).flatMap((part, i) => (i ? [el('wbr'), part] : [part]))),
    plugin.weight > 0 && [el('span', { class: 'bar' }, el('i', { class: 'weight', style: { width: `${(100 * plugin.weight) / most}%` } })),
      el('small', {}, `×${count(plugin.weight)}`)]))),
  removed.length > 0 && el('p', { class: 'quiet' }, 'without ', el('b', {}, removed.join(', '))));
}

function argumentTable(profile) {
  const names = Object.keys(profile.args).sort();
  if (!names.length) return null;
  return el('details', { class: 'fold' }, el('summary', {}, `Arguments of ${names.length} plugins`), el('dl', { class: 'facts' }, names.map((name) => {
    const changed = profile.changedArgs.includes(name);
    return el('div', {}, el('dt', {}, el(changed ? 'b' : 'span', {}, name)), el('dd', {}, el('pre', { class: 'raw', tabindex: 0 }, JSON.stringify(profile.args[name], null, 1))));
  })));
}
