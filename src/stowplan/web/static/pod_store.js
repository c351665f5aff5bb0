// What is loaded of the selected pod: the answer of the filters and the points, by node.
import { apiPath, getJson } from './net.js';
import { expandColumn, store, subscribe } from './store.js';

/** Loads what refuses each node; the columns become lists. */
export async function loadFit(key, signal) {
  if (store.pod.fit) return store.pod.fit;
  const fit = await getJson(`fit/${apiPath(...splitKey(key))}`);
  if (signal?.aborted || store.pod?.key !== key) return null;
  fit.step = expandColumn(fit.step, store.nodes.length);
  fit.rejects = expandColumn(fit.rejects, store.nodes.length);
  store.pod.fit = fit;
  return fit;
}

/** Loads the points of every feasible node. */
export async function loadPoints(key, signal) {
  if (store.pod.points) return store.pod.points;
  const points = await getJson(`points/${apiPath(...splitKey(key))}`);
  if (signal?.aborted || store.pod?.key !== key) return null;
  points.total = expandColumn(points.total, points.slot.length);
  for (const plugin of points.plugins) plugin.normalized = expandColumn(plugin.normalized, points.slot.length);
  store.pod.points = points;
  return points;
}

function splitKey(key) {
  const slash = key.indexOf('/');
  return [key.slice(0, slash), key.slice(slash + 1)];
}

/** Calls `draw` whenever what is loaded of the pod changes, until the element is gone. */
export function followPod(element, draw) {
  const end = subscribe('pod', () => {
    if (element.isConnected) draw();
    else end();
  });
}
