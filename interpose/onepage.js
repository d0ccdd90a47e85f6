// What the pages are made of. Names come as text only: nothing here parses markup.
'use strict';
function el(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}
function fill(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key.startsWith('on')) { node.addEventListener(key.slice(2), value); }
    else if (key === 'css') { Object.assign(node.style, value); }
    else if (value !== null && value !== undefined) { node.setAttribute(key, value); }
  }
  for (const child of children.flat()) {
    if (child !== null && child !== undefined) {
      node.append(child instanceof Node ? child : document.createTextNode(String(child)));
    }
  }
  return node;
}
const number = (value) => value.toLocaleString('en-US');
