// DOM construction: elements with text children only. Strings from the cluster always become text nodes, never HTML.

const SVG = 'http://www.w3.org/2000/svg';

/** Creates an element. Attributes: `class`, `on<event>` functions, `style` as an object of CSS properties, `data`. */
export function el(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** Creates an SVG element, with the same arguments as `el`. */
export function svg(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else if (name === 'style') for (const [key, text] of Object.entries(value)) node.style.setProperty(key, text);
    else if (name === 'data') Object.assign(node.dataset, value);
    else if (name === 'value') node.value = value;
    else node.setAttribute(name, value === true ? '' : String(value));
  }
  append(node, children);
  return node;
}

function append(node, children) {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    if (Array.isArray(child)) append(node, child);
    else node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

/** Replaces all children of a node. */
export function replaceChildren(node, ...children) {
  const fragment = document.createDocumentFragment();
  append(fragment, children);
  node.replaceChildren(fragment);
  return node;
}

export function byId(id) {
  return document.getElementById(id);
}

/**
 * Updates the children of a list in place: elements with the same key are kept, so that focus and hover stay.
 * `make(item, previous)` returns the element of an item; `previous` is the element with the key, if there is one.
 */
export function patchList(parent, items, keyOf, make) {
  const known = new Map();
  for (const child of parent.children) known.set(child.dataset.key, child);
  const wanted = items.map((item) => {
    const key = keyOf(item);
    const element = make(item, known.get(key));
    element.dataset.key = key;
    return element;
  });
  let at = parent.firstChild;
  for (const element of wanted) {
    if (element === at) at = at.nextSibling;
    else parent.insertBefore(element, at);
  }
  while (at) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
}

/** A table that scrolls sideways: `heads` are texts or cells, `rows` are elements, `kind` is a further class. */
export function scrolledTable(label, heads, rows, kind = '') {
  return el('div', { class: 'scroll-x', tabindex: 0, role: 'group', 'aria-label': label }, el('table', { class: `table ${kind}` },
    el('thead', {}, el('tr', {}, heads.map((head) => (head instanceof Node ? head : el('th', { scope: 'col' }, head))))), el('tbody', {}, rows)));
}

/** Cells with figures. */
export function numberCells(...texts) {
  return texts.map((text) => el('td', { class: 'number' }, text));
}

/** Speaks a sentence to screen readers. */
export function announce(text) {
  byId('live').textContent = text;
}

/** A drop-down of `[value, text]` pairs. */
export function select(label, options, chosen, onchange) {
  const list = el('select', { 'aria-label': label, onchange: (event) => onchange(event.target.value) });
  setOptions(list, options, chosen);
  return list;
}

/** Replaces the options of a drop-down and keeps the chosen one. */
export function setOptions(list, options, chosen) {
  replaceChildren(list, options.map(([value, text]) => el('option', { value }, text)));
  list.value = chosen;
}

/** Offers text as a file to save. */
export function saveFile(name, type, text) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = el('a', { href: address, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

/** A button that copies a text. */
export function copyButton(label, textOf) {
  const button = el('button', { class: 'button', type: 'button', onclick: copy }, label);
  async function copy() {
    try {
      await navigator.clipboard.writeText(textOf());
      button.textContent = 'Copied';
    } catch {
      button.textContent = 'The browser refuses to copy';
    }
    setTimeout(() => { button.textContent = label; }, 1500);
  }
  return button;
}
