// Addresses are fragments: `#/pod/shop/web-1?t=5400`. Views register under their first segment.

const views = new Map();
let current = null;

/**
 * Registers a view: `{name, title(route), layout, open(route, signal), close()}`. `layout` is `panel` (beside the map) or
 * `page` (over the whole width). `open` fills `route.place`, the element that the view owns.
 */
export function addView(view) {
  views.set(view.name, view);
}

/** A fragment: `route('pod', ['shop', 'web-1'], {t: 5400})`. */
export function route(name, segments = [], query = {}) {
  const path = [name, ...segments].map(encodeURIComponent).join('/');
  const text = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== '' && value != null)).toString();
  return `#/${path}${text ? `?${text}` : ''}`;
}

export function parseRoute(fragment) {
  const [path, query] = fragment.replace(/^#\/?/, '').split('?');
  const segments = path.split('/').filter(Boolean).map(decode);
  return { name: segments[0] || 'map', segments: segments.slice(1), query: new URLSearchParams(query || '') };
}

function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export function go(fragment) {
  if (location.hash === fragment) openRoute();
  else location.hash = fragment;
}

/** Changes parameters of the address without opening the view again. */
export function setQuery(changes) {
  const here = parseRoute(location.hash);
  for (const [name, value] of Object.entries(changes)) {
    if (value === '' || value == null) here.query.delete(name);
    else here.query.set(name, value);
  }
  history.replaceState(null, '', route(here.name, here.segments, Object.fromEntries(here.query)));
}

export function currentRoute() {
  return current?.route || parseRoute(location.hash);
}

let show = null;

/** Starts routing; `onShow(view, route)` prepares the page and returns the element for the view. */
export function startRouter(onShow) {
  show = onShow;
  addEventListener('hashchange', openRoute);
  openRoute();
}

/** Opens the view of the address; also after the state was loaded again. */
export function openRoute() {
  if (!show) return;
  const wanted = parseRoute(location.hash);
  const view = views.get(wanted.name) || views.get('map');
  current?.control.abort();
  if (current && current.view !== view) current.view.close?.();
  const control = new AbortController();
  wanted.place = show(view, wanted);
  current = { view, route: wanted, control };
  view.open(wanted, control.signal);
}
