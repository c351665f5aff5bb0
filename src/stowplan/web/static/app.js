// The start of the page: loads the first answers, shows the map, opens the stream.
import { byId, el, replaceChildren } from './dom.js';
import { startKeys } from './keys.js';
import { map, setMode, startMap, themeChanged } from './map.js';
import { startMapInput } from './map_input.js';
import { startMapTools, takeMapQuery } from './map_tools.js';
import { getJson, openStream } from './net.js';
import { mapView } from './panel.js';
import { loadPods, resetPods } from './pods.js';
import { addView, openRoute, startRouter } from './router.js';
import { startSearch } from './search.js';
import { showRefused, startStatus } from './status.js';
import { publish, store, takeMap } from './store.js';
import { startTheme } from './theme.js';

/**
 * Starts everything; called once, by boot.js or by a report. `loadViews` returns a promise of the module views.js, whose
 * code is not needed for the first picture.
 */
export async function startPage(loadViews) {
  globalThis.stowplan = { map, store, loadPods };
  startTheme(() => {
    themeChanged();
    publish('theme');
    openRoute();
  });
  byId('skip').addEventListener('click', skip);
  try {
    await loadFirst();
  } catch (error) {
    refuse(error);
    return;
  }
  startMap();
  startMapTools();
  startMapInput();
  startStatus();
  startSearch();
  startKeys();
  hideMissing();
  publish('nodes', { all: true });
  addView(mapView);
  const { registerViews } = await loadViews();
  registerViews(byId('timeline'));
  startRouter(showView);
  publish('pending');
  document.documentElement.dataset.ready = '';
  loadLater();
  openStream(reload);
}

async function loadFirst() {
  const [hello, columns] = await Promise.all([getJson('hello'), getJson('map')]);
  store.hello = hello;
  store.run = { time: hello.time, speed: 1, playing: false };
  store.lastNews = Date.now();
  takeMap(columns);
}

async function loadLater() {
  const loads = [getJson('pending').then(takePending, pendingFailed)];
  if (store.hello.features.includes('history')) loads.push(getJson('history').then(takeHistory));
  await Promise.allSettled(loads);
}

/** A timeline shows other lists for times before the end of a run, and this one at the end. */
function takePending(pending) {
  store.lastPending = pending;
  store.pending = pending;
  publish('pending');
}

function pendingFailed(error) {
  store.pendingProblem = error.message;
  publish('pending');
}

function takeHistory(history) {
  store.history = history;
  publish('history');
}

/** Loads everything again: another epoch, a gap in the stream, or polling. */
async function reload() {
  const epoch = store.nodes?.epoch;
  const [hello, columns, pending] = await Promise.all([getJson('hello'), getJson('map'), getJson('pending')]);
  store.hello = hello;
  if (epoch !== columns.epoch || store.nodes.revision !== columns.revision) takeMap(columns);
  if (epoch !== columns.epoch) resetPods();
  publish('hello');
  takePending(pending);
  if (hello.features.includes('history')) takeHistory(await getJson('history'));
}

/** Prepares the page for a view and returns the element that the view fills. */
function showView(view, here) {
  const beside = view.layout === 'panel';
  byId('main').dataset.layout = view.layout;
  byId('main').dataset.view = view.name;
  byId('page').hidden = beside;
  const place = byId(beside ? 'panel' : 'page');
  for (const id of ['panel', 'page']) replaceChildren(byId(id));
  place.scrollTop = 0;
  const section = view.layout === 'panel' || view.name === 'matrix' ? 'map' : view.name;
  for (const link of document.querySelectorAll('nav a')) {
    if (link.dataset.view === section) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  document.title = `${view.title(here)} · ${store.hello.source} · Stowplan`;
  leavePod(view, here);
  takeMapQuery(here.query);
  return place;
}

/** Ends colours and rings of a pod when its view is left. */
function leavePod(view, here) {
  const key = here.segments.join('/');
  if (['pod', 'matrix', 'what-if'].includes(view.name) && store.pod?.key === key) return;
  const coloured = map.mode === 'refuses' || map.mode === 'points';
  store.pod = null;
  store.focus = null;
  store.rings = [];
  publish('pod');
  publish('rings');
  if (coloured) setMode('fullest');
}

function hideMissing() {
  const { features } = store.hello;
  const optional = { compare: 'compare' };
  for (const [view, feature] of Object.entries(optional)) {
    document.querySelector(`nav [data-view="${view}"]`).hidden = !features.includes(feature);
  }
}

function skip(event) {
  event.preventDefault();
  byId(byId('page').hidden ? 'panel' : 'page').focus();
}

function refuse(error) {
  if (error.status === 401 || error.status === 403) showRefused(byId('notice'), error);
  else {
    byId('notice').hidden = false;
    replaceChildren(byId('notice'), el('strong', {}, 'The page could not be loaded.'), ` ${error.message}`);
  }
  document.documentElement.dataset.ready = 'refused';
}
