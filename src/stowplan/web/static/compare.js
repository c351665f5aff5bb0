// The comparison of two runs.
import { el, replaceChildren } from './dom.js';

export const compareView = {
  name: 'compare',
  layout: 'page',
  title: () => 'Compare',
  open(here) {
    replaceChildren(here.place, el('h1', {}, 'Compare'), el('p', { class: 'quiet' }, 'This source offers no comparison.'));
  },
};
