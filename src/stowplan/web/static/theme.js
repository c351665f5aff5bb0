// Light and dark theme: the system's preference, or the choice that is remembered.
import { byId } from './dom.js';

const KEY = 'stowplan-theme';

/** Applies the remembered theme and starts the switch; `changed` is called after every change. */
export function startTheme(changed) {
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const apply = (notify) => {
    const chosen = remembered();
    const isDark = chosen ? chosen === 'dark' : dark.matches;
    document.documentElement.dataset.theme = isDark ? 'dark' : 'light';
    byId('theme').setAttribute('aria-label', isDark ? 'Use the light theme' : 'Use the dark theme');
    byId('theme').setAttribute('aria-pressed', String(isDark));
    if (notify) changed();
  };
  dark.addEventListener('change', () => apply(true));
  byId('theme').addEventListener('click', () => {
    remember(document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark');
    apply(true);
  });
  apply(false);
}

export function isDark() {
  return document.documentElement.dataset.theme === 'dark';
}

function remembered() {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

function remember(theme) {
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    document.documentElement.dataset.theme = theme;
  }
}
