// The page of a pod: loads its explanation, then what refuses each node or the points of each node, for the map.
import { el, replaceChildren } from './dom.js';
import { map, setMode } from './map.js';
import { ApiError, apiPath, getJson } from './net.js';
import { pendingPod } from './pod_pending.js';
import { placedPod } from './pod_placed.js';
import { loadFit, loadPoints } from './pod_store.js';
import { publish, store } from './store.js';

export const podView = {
  name: 'pod',
  layout: 'panel',
  title: (here) => here.segments.join('/'),
  async open(here, signal) {
    const [namespace, name] = here.segments;
    replaceChildren(here.place, podHead(namespace, name), el('p', { class: 'section quiet' }, 'Computing the explanation…'));
    try {
      const explanation = await getJson(`explain/${apiPath(namespace, name)}`);
      if (signal.aborted) return;
      await showPod(here, explanation, signal);
    } catch (error) {
      if (!signal.aborted) failed(here.place, namespace, name, error);
    }
  },
};

async function showPod(here, explanation, signal) {
  const key = here.segments.join('/');
  const placed = Boolean(explanation.node);
  const known = store.pod?.key === key ? store.pod : {};
  store.pod = { fit: null, points: null, ...known, key, explanation };
  const shown = placed ? placedPod(here, explanation) : pendingPod(here, explanation);
  replaceChildren(here.place, podHead(...here.segments, explanation), shown);
  publish('pod');
  try {
    if (placed || explanation.verdict === 'fits') await loadPoints(key, signal);
    if (!placed) await loadFit(key, signal);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
  }
  if (signal.aborted || store.pod?.key !== key) return;
  if (store.pod.fit && map.mode !== 'refuses' && !here.query.get('colour')) setMode('refuses');
  if (placed && store.pod.points && map.mode !== 'points' && !here.query.get('colour')) setMode('points');
  ringPlaced(explanation);
  publish('pod');
}

/** The winner is ringed twice, the runner-up once. */
function ringPlaced(explanation) {
  const rings = [];
  const winner = store.nodes.slotOf.get(explanation.winner || explanation.node || '');
  const second = store.nodes.slotOf.get(explanation.second || '');
  if (winner !== undefined) rings.push({ slot: winner, kind: 'winner' });
  if (second !== undefined) rings.push({ slot: second, kind: 'second' });
  store.rings = rings;
  publish('rings');
}

function podHead(namespace, name, explanation) {
  return el('div', { class: 'panel-head' },
    el('a', { class: 'back', href: '#/map' }, '‹ all pending pods'),
    el('h1', { class: 'mono' }, `${namespace}/${name}`),
    explanation && el('p', { class: 'quiet', id: 'pod-facts' }));
}

function failed(place, namespace, name, error) {
  const text = error.status === 404
    ? `${error.message} It may have been deleted, or have finished.`
    : `The explanation is not available: ${error.message}`;
  replaceChildren(place, podHead(namespace, name), el('p', { class: 'section' }, text));
  if (!(error instanceof ApiError)) throw error;
}
