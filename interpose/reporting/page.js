// Draws the page from the data beside it, with the pieces of onepage.js.
(function () {
  const data = JSON.parse(document.getElementById('data').textContent);
  const page = document.getElementById('page');
  const wanted = new URLSearchParams(location.hash.slice(1));
  const state = { search: wanted.get('search') || '', group: wanted.get('group') || 'kind', shown: 300 };

  const STATES = { new: 'new', unchanged: 'unchanged', absent: 'fixed' };
  const GROUPS = {
    kind: (error) => error.kind + ': ' + error.short, file: (error) => error.file,
    function: (error) => error.function, state: (error) => STATES[error.state] || '', process: (error) => 'process ' + error.pid,
  };

  function stack(frames) {
    return el('ol', { class: 'stack' }, frames.map((frame, at) => el('li', { class: frame.own ? 'own' : null, title: frame.path },
      at ? 'by ' : 'at ', frame.text, frame.source ? source(frame) : null)));
  }
  function source(frame) {
    return el('table', { class: 'source' }, frame.source.map(([line, text]) =>
      el('tr', { class: line === frame.line ? 'at' : null }, el('td', null, line), el('td', null, text))));
  }
  function draw_error(error) {
    const box = el('details', { class: 'error ' + error.level + '-level' }, el('summary', null,
      error.state ? el('span', { class: 'state ' + error.state }, STATES[error.state]) : null, el('b', null, error.what), ' ',
      el('span', { class: 'soft' }, error.where, error.count > 1 ? ', ' + number(error.count) + ' times' : '')));
    // What is not opened is not drawn.
    box.addEventListener('toggle', () => {
      if (box.open && box.children.length === 1) {
        box.append(stack(error.stack), ...error.parts.map((part) => el('div', { class: 'part' }, part.text, stack(part.stack))));
        box.append(el('p', { class: 'soft' }, error.help, ' Process ', error.pid, error.thread ? ', thread ' + error.thread : '', '.'));
        if (error.suppression) {
          box.append(el('details', null, el('summary', { class: 'soft' }, 'suppression'), el('pre', null, error.suppression)));
        }
      }
    });
    return box;
  }
  const texts = data.errors.map((error) => [error.what, error.kind, error.short, error.where,
    ...[error, ...error.parts].flatMap((part) => part.stack.flatMap((frame) => [frame.text, frame.path])),
    ...error.parts.map((part) => part.text)].join('\n').toLowerCase());

  const list = el('div', { id: 'list' });
  function draw() {
    const words = state.search.toLowerCase().split(/\s+/).filter(Boolean);
    const found = data.errors.filter((_, at) => words.every((word) => texts[at].includes(word)));
    const groups = new Map();
    for (const error of found.slice(0, state.shown)) {
      const name = GROUPS[state.group](error);
      if (!groups.has(name)) { groups.set(name, []); }
      groups.get(name).push(error);
    }
    list.replaceChildren(el('p', { class: 'soft' }, number(found.length), ' of ', number(data.errors.length), ' errors',
      data.left_out ? '; ' + number(data.left_out) + ' more are left out' : ''));
    for (const [name, errors] of groups) {
      list.append(el('h2', null, name, el('span', { class: 'soft' }, ' (' + errors.length + ')')), ...errors.map(draw_error));
    }
    if (found.length > state.shown) {
      list.append(el('button', { onclick: () => { state.shown *= 4; draw(); } }, 'show more'));
    }
    if (found.length === 1) { list.querySelector('details.error').open = true; }
  }
  const groups = Object.keys(GROUPS).filter((name) => name !== 'state' || data.compared);
  const select = el('select', { 'aria-label': 'group by', onchange: (event) => { state.group = event.target.value; draw(); } },
    groups.map((name) => el('option', { value: name, selected: name === state.group ? '' : null }, 'by ' + name)));
  const search = el('input', { type: 'search', placeholder: 'Search errors, functions, files', value: state.search,
    oninput: (event) => { state.search = event.target.value; draw(); } });
  if (!GROUPS[state.group]) { state.group = 'kind'; }
  page.append(el('h1', null, data.title),
    el('p', { class: 'soft' }, data.processes.map((one) => el('div', null, one.pid, ' ', one.tool, ': ', one.command, one.end ? ' (' + one.end + ')' : '')),
      data.complete ? null : el('b', null, 'The report is not whole: the end of a program is missing.')),
    ...data.deaths.map((death) => el('details', { class: 'error error-level' },
      el('summary', null, el('b', null, death.what), ' ', el('span', { class: 'soft' }, 'process ', death.pid)), stack(death.stack))),
    el('div', { class: 'bar' }, search, select), list);
  draw();
})();
