// Requests to the server that serves the page, and its event stream, with polling where streams are not available.
import { applyEvent, publish, store } from './store.js';

const POLL_SECONDS = 5;
const MAX_RETRY_SECONDS = 15;
const STREAM_EVENTS = ['nodes', 'flags', 'joined', 'left', 'pods', 'queue', 'pending', 'feed', 'run'];

/** An answer that is not 2xx. `status` 0: the server did not answer. */
export class ApiError extends Error {
  constructor(status, message) {
    super(message);
    this.name = 'ApiError';
    this.status = status;
  }
}

let embedded = null;

/** Answers by path, for a page without a server: `{"map": {...}, "explain/shop/web-1": {...}}`. */
export function embedAnswers(answers) {
  embedded = answers;
}

export function isEmbedded() {
  return embedded !== null;
}

export function apiAddress(path) {
  return new URL((document.documentElement.dataset.api || 'api/v1/') + path, document.baseURI).href;
}

/** A path of segments, each escaped. */
export function apiPath(...segments) {
  return segments.map(encodeURIComponent).join('/');
}

/** The JSON of a path below the API; the browser revalidates answers that it keeps. */
export async function getJson(path) {
  if (embedded) {
    if (path in embedded) return embedded[path];
    throw new ApiError(404, 'This report does not contain the answer.');
  }
  return (await request(path, { headers: { Accept: 'application/json' }, cache: 'no-cache' })).json();
}

/** Posts JSON and returns the answer's JSON. */
export async function postJson(path, body) {
  if (embedded) throw new ApiError(404, 'A report computes nothing; start stowplan web for this.');
  const headers = { 'Content-Type': 'application/json', Accept: 'application/json' };
  const response = await request(path, { method: 'POST', headers, body: JSON.stringify(body) });
  const text = await response.text();
  return text ? JSON.parse(text) : null;
}

async function request(path, options) {
  let response;
  try {
    response = await fetch(apiAddress(path), { credentials: 'same-origin', ...options });
  } catch {
    throw new ApiError(0, 'The server does not answer.');
  }
  if (response.ok) return response;
  throw new ApiError(response.status, await messageOf(response));
}

async function messageOf(response) {
  const text = await response.text();
  try {
    return JSON.parse(text).message || text;
  } catch {
    return text || response.statusText;
  }
}

const stream = { source: null, timer: null, retry: 1, pods: false, reload: null };

/** Opens the event stream. `reload` loads everything again and is called when the server has forgotten our revision. */
export function openStream(reload) {
  stream.reload = reload;
  connect();
}

/** Requests changes of pods with the stream, from now on. */
export function streamPods() {
  if (stream.pods) return;
  stream.pods = true;
  if (stream.source) connect();
}

function connect() {
  closeStream();
  if (embedded || store.hello.kind === 'recording') return;
  if (!store.hello.features.includes('stream') || typeof EventSource === 'undefined') {
    poll();
    return;
  }
  const since = `${store.nodes.epoch}-${store.nodes.revision}`;
  const query = `?since=${encodeURIComponent(since)}${stream.pods ? '&pods=1' : ''}`;
  const source = new EventSource(apiAddress('events') + query);
  stream.source = source;
  source.addEventListener('open', () => {
    stream.retry = 1;
    connection('live');
  });
  for (const kind of STREAM_EVENTS) source.addEventListener(kind, (event) => take(kind, event));
  source.addEventListener('reset', () => resetAll(source));
  source.addEventListener('error', () => lost(source));
}

function take(kind, event) {
  const revision = Number((event.lastEventId || '').split('-').pop());
  if (revision > 0) store.nodes.revision = revision;
  store.heard = (store.heard || 0) + 1;
  store.lastNews = Date.now();
  applyEvent(kind, JSON.parse(event.data));
  document.documentElement.dataset.heard = store.heard;
}

async function resetAll(source) {
  if (source !== stream.source) return;
  try {
    await stream.reload();
    connect();
  } catch {
    lost(source);
  }
}

/** The browser reconnects a stream by itself unless the server refused it; then, and for a new epoch, we do. */
function lost(source) {
  if (source !== stream.source) return;
  connection('lost');
  closeStream();
  stream.timer = setTimeout(again, stream.retry * 1000);
  stream.retry = Math.min(MAX_RETRY_SECONDS, stream.retry * 1.6);
}

async function again() {
  try {
    const hello = await getJson('hello');
    if (hello.epoch !== store.nodes.epoch) await stream.reload();
    store.hello = { ...store.hello, ...hello };
    if (await streamRefused()) poll();
    else connect();
  } catch (error) {
    if (error.status === 401 || error.status === 403) {
      connection('refused', error);
      return;
    }
    stream.timer = setTimeout(again, stream.retry * 1000);
    stream.retry = Math.min(MAX_RETRY_SECONDS, stream.retry * 1.6);
  }
}

/** Whether the server has no stream left for us (503); EventSource does not tell the status. */
async function streamRefused() {
  if (!store.hello.features.includes('stream')) return true;
  const control = new AbortController();
  try {
    const response = await fetch(apiAddress('events'), { signal: control.signal, credentials: 'same-origin' });
    return response.status === 503;
  } finally {
    control.abort();
  }
}

async function poll() {
  try {
    await stream.reload();
    stream.retry = 1;
    connection('polling');
  } catch (error) {
    connection(error.status === 401 || error.status === 403 ? 'refused' : 'lost', error);
  }
  stream.timer = setTimeout(poll, POLL_SECONDS * 1000);
}

export function closeStream() {
  clearTimeout(stream.timer);
  stream.source?.close();
  stream.source = null;
}

function connection(state, error = null) {
  const before = store.connection.state;
  if (before === state) return;
  const since = state === 'lost' ? store.lastNews || Date.now() : null;
  store.connection = { state, since, error, before };
  publish('connection');
}
