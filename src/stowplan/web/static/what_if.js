// What-if: changes on a copy of the state.
import { el, replaceChildren } from './dom.js';

export const whatIfView = {
  name: 'what-if',
  layout: 'panel',
  title: () => 'What if',
  open(here) {
    replaceChildren(here.place, el('h1', {}, 'What if'), el('p', { class: 'quiet' }, 'This source offers no what-if.'));
  },
};
