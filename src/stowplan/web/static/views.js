// The views besides the map: loaded after the first picture.
import { compareView } from './compare.js';
import { configView } from './config.js';
import { matrixView } from './matrix.js';
import { nodeView } from './node.js';
import { pendingView } from './pending.js';
import { podView } from './pod.js';
import { queueView } from './queue.js';
import { addView } from './router.js';
import { startTimeline } from './timeline.js';
import { whatIfView } from './what_if.js';
import { workloadView } from './workload.js';

const VIEWS = [pendingView, podView, matrixView, nodeView, workloadView, queueView, configView, compareView, whatIfView];

/** Registers all views and starts the timeline in its place. */
export function registerViews(timeline) {
  VIEWS.forEach(addView);
  startTimeline(timeline);
}
