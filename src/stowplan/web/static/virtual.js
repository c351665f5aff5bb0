// A list of many rows of one height: only rows in view are in the DOM. Arrow keys move, Enter opens.
import { el, replaceChildren } from './dom.js';

const SPARE_ROWS = 6;

/**
 * A virtual list. `options`: rowHeight, make(index) → row element, open(index), label, empty (text without rows),
 * visible(first, last) called when other rows come into view.
 */
export function virtualList(options) {
  const inner = el('div', { class: 'virtual-inner', role: 'presentation' });
  const element = el('div', { class: 'virtual', tabindex: 0, role: 'listbox', 'aria-label': options.label, onscroll: () => draw(), onkeydown: keys, onfocus }, inner);
  let length = 0;
  let cursor = -1;
  let shown = [0, -1];

  function draw(force = false) {
    const first = Math.max(0, Math.floor(element.scrollTop / options.rowHeight) - SPARE_ROWS);
    const last = Math.min(length - 1, Math.ceil((element.scrollTop + element.clientHeight) / options.rowHeight) + SPARE_ROWS);
    if (!force && first === shown[0] && last === shown[1]) return;
    shown = [first, last];
    const rows = [];
    for (let i = first; i <= last; i += 1) rows.push(row(i));
    inner.style.setProperty('height', `${Math.max(1, length) * options.rowHeight}px`);
    replaceChildren(inner, rows.length ? rows : el('div', { class: 'virtual-empty', role: 'option', 'aria-selected': 'false' }, options.empty || ''));
    if (cursor >= first && cursor <= last) element.setAttribute('aria-activedescendant', `${options.id}-${cursor}`);
    else element.removeAttribute('aria-activedescendant');
    options.visible?.(first, last);
  }

  function row(i) {
    const made = options.make(i);
    made.classList.add('virtual-row');
    made.id = `${options.id}-${i}`;
    made.setAttribute('role', 'option');
    made.setAttribute('aria-selected', String(i === cursor));
    made.setAttribute('aria-setsize', String(length));
    made.setAttribute('aria-posinset', String(i + 1));
    made.style.setProperty('transform', `translateY(${i * options.rowHeight}px)`);
    made.style.setProperty('height', `${options.rowHeight}px`);
    made.addEventListener('click', () => {
      cursor = i;
      options.open?.(i);
      draw(true);
    });
    return made;
  }

  function onfocus() {
    if (cursor < 0 && length && element.matches(':focus-visible')) moveTo(0);
  }

  function keys(event) {
    const page = Math.max(1, Math.floor(element.clientHeight / options.rowHeight) - 1);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -length, End: length };
    if (event.key === 'Enter' && cursor >= 0) options.open?.(cursor);
    else if (event.key in steps && length) moveTo(Math.max(0, Math.min(length - 1, cursor + steps[event.key])));
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  function moveTo(index) {
    cursor = index;
    const top = index * options.rowHeight;
    if (top < element.scrollTop) element.scrollTop = top;
    else if (top + options.rowHeight > element.scrollTop + element.clientHeight) {
      element.scrollTop = top + options.rowHeight - element.clientHeight;
    }
    options.moved?.(index);
    draw(true);
  }

  new ResizeObserver(() => draw(true)).observe(element);
  return {
    element,
    /** Sets the number of rows and draws them again. */
    update(rows, keep = false) {
      length = rows;
      if (!keep) {
        cursor = -1;
        element.scrollTop = 0;
      }
      cursor = Math.min(cursor, length - 1);
      draw(true);
    },
    draw: () => draw(true),
    focus: () => element.focus(),
  };
}
