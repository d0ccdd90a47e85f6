// Draws the page from the data beside it, with the pieces of onepage.js.
(function () {
  const data = JSON.parse(document.getElementById('data').textContent);
  const page = document.getElementById('page');
  const last = data.runs.length - 1, compared = last > 0;
  const state = { tab: 'Functions', event: 0, search: '', focus: 0, sort: 'inclusive', source: 0, shown: 300, run: last };
  const SVG = 'http://www.w3.org/2000/svg';

  // -- Pieces --

  function svg(tag, attributes, ...children) {
    return fill(document.createElementNS(SVG, tag), attributes, children);
  }
  const signed = (value) => (value > 0 ? '+' : '') + number(value);
  const total = (run) => data.runs[run].totals[state.event] || 0;
  const share = (value, run) => total(run) ? (100 * value / total(run)).toFixed(2) + '%' : '';
  const functionName = (index) => data.names[data.functions[index][0]];
  const fileName = (index) => data.names[data.functions[index][1]];
  const objectName = (index) => data.names[data.functions[index][2]];
  const own = (index, run) => data.functions[index][3 + run][0][state.event];
  const inclusive = (index, run) => data.functions[index][3 + run][1][state.event];
  const calls = (index, run) => data.functions[index][3 + run][2];

  function matcher() {
    if (!state.search) { return () => true; }
    try {
      const pattern = new RegExp(state.search, 'i');
      return (text) => pattern.test(text);
    } catch (error) {
      return (text) => text.includes(state.search);
    }
  }
  function link(index, tab) {
    const go = () => { state.focus = index; state.tab = tab || 'Call graph'; draw(); };
    return el('button', { class: 'link', onclick: go, title: functionName(index) }, functionName(index));
  }
  // A cost with its share as a bar behind it.
  function cost(value, run) {
    const part = total(run) ? Math.min(100, Math.abs(100 * value / total(run))) : 0;
    return el('td', { class: 'n heat', css: { backgroundSize: part + '% 100%' } }, value ? number(value) : '', value ? ' ' : '',
      value ? el('span', { class: 'soft' }, share(value, run)) : '');
  }
  function change(after, before) {
    const value = after - before;
    return el('td', { class: 'n ' + (value > 0 ? 'more' : value < 0 ? 'less' : 'soft') }, value ? signed(value) : after ? '0' : '');
  }
  function costs(get) {
    const cells = [cost(get(last), last)];
    if (compared) { cells.push(change(get(last), get(0))); }
    return cells;
  }
  function heads(name, key) {
    const sort = key ? { class: 'n', onclick: () => { state.sort = key; draw(); } } : { class: 'n' };
    const cells = [el('th', sort, name)];
    if (compared) {
      const by = key ? { class: 'n', onclick: () => { state.sort = 'change of ' + key; draw(); } } : { class: 'n' };
      cells.push(el('th', by, 'change'));
    }
    return cells;
  }

  // -- Tabs --

  const SORTS = {
    'inclusive': (i) => -inclusive(i, last),
    'self': (i) => -own(i, last),
    'calls': (i) => -calls(i, last),
    'change of inclusive': (i) => -Math.abs(inclusive(i, last) - inclusive(i, 0)),
    'change of self': (i) => -Math.abs(own(i, last) - own(i, 0)),
  };
  function functionsTab() {
    const match = matcher(), key = SORTS[state.sort];
    let found = data.functions.map((_, index) => index)
      .filter((i) => match(functionName(i)) || (state.search && (match(fileName(i)) || match(objectName(i)))));
    const text = { 'function': functionName, 'file': fileName, 'object': objectName }[state.sort];
    if (text) { found.sort((a, b) => text(a).localeCompare(text(b))); } else { found.sort((a, b) => key(a) - key(b)); }
    const by = (name) => ({ onclick: () => { state.sort = name; draw(); } });
    const rows = found.slice(0, state.shown).map((i) => el('tr', { class: i === state.focus ? 'chosen' : null },
      costs((run) => inclusive(i, run)), costs((run) => own(i, run)), el('td', { class: 'n' }, number(calls(i, last))),
      el('td', { class: 'name' }, link(i)), el('td', { class: 'name soft' }, fileName(i)),
      el('td', { class: 'name soft', title: objectName(i) }, objectName(i).split('/').pop())));
    const table = el('table', { id: 'functions' }, el('thead', null, el('tr', null, heads('inclusive', 'inclusive'),
      heads('self', 'self'), el('th', { class: 'n', ...by('calls') }, 'calls'), el('th', by('function'), 'function'),
      el('th', by('file'), 'file'), el('th', by('object'), 'object'))), el('tbody', null, rows));
    const more = found.length > state.shown
      ? el('button', { class: 'link', onclick: () => { state.shown *= 4; draw(); } }, 'show more') : null;
    return [el('div', { class: 'note' }, number(found.length), ' functions, by ', state.sort), table, more];
  }

  function flameTab() {
    const frames = data.flames[state.run][state.event];
    const whole = frames.filter((f) => f[1] === 0).reduce((sum, f) => sum + f[3], 0) || 1;
    const depth = frames.reduce((most, f) => Math.max(most, f[1]), 0);
    const box = el('div', { class: 'flame', css: { height: (depth + 1) * 17 + 'px' } });
    const match = matcher();
    let start = 0, span = whole;
    function put() {
      box.replaceChildren();
      const width = box.clientWidth || 1000;
      for (const [f, level, at, cost, self] of frames) {
        const from = Math.max(0, (at - start) / span), to = Math.min(1, (at + cost - start) / span);
        if ((to - from) * width < 0.7) { continue; }
        const name = functionName(f);
        const node = el('div', {
          class: state.search && match(name) ? 'found' : null,
          css: { left: 100 * from + '%', width: 100 * (to - from) + '%', top: level * 17 + 'px', background: colour(f) },
          onmouseover: () => {
            tell(name + ' (' + fileName(f) + ') [' + objectName(f) + ']: ' + number(cost) + ' ' + share(cost, state.run) +
              ', itself ' + number(self));
          },
          onclick: () => {
            const same = start === at && span === cost;
            start = same ? 0 : at; span = same ? whole : cost; state.focus = f; put();
          },
        }, (to - from) * width > 24 ? name : '');
        box.append(node);
      }
    }
    requestAnimationFrame(put);
    const choose = compared ? el('span', { class: 'bar' }, ['old', 'new'].map((name, run) => el('button', {
      'aria-selected': state.run === run, onclick: () => { state.run = run; draw(); } }, name))) : null;
    return [el('div', { class: 'note' }, data.estimated, '. Click enlarges, click again goes back.',
      compared ? ' Red costs more than before, green less.' : ''), choose, box];
  }
  function colour(f) {
    if (compared) {
      const before = own(f, 0), after = own(f, last), most = Math.max(before, after) || 1;
      const change = (after - before) / most;
      const light = 92 - 40 * Math.abs(change);
      return change > 0.005 ? `hsl(5 80% ${light}%)` : change < -0.005 ? `hsl(135 45% ${light}%)` : '#e6e6e6';
    }
    let hash = 7;
    for (const char of functionName(f)) { hash = (hash * 31 + char.codePointAt(0)) % 9973; }
    return `hsl(${8 + hash % 42} ${70 + hash % 20}% ${66 + hash % 12}%)`;
  }

  const callersOf = new Map(), calleesOf = new Map();
  for (const edge of data.edges) {
    if (!calleesOf.has(edge[0])) { calleesOf.set(edge[0], []); }
    if (!callersOf.has(edge[1])) { callersOf.set(edge[1], []); }
    calleesOf.get(edge[0]).push(edge);
    callersOf.get(edge[1]).push(edge);
  }
  const edgeCost = (edge, run) => edge[2 + run][1][state.event];
  const byCost = (edges) => (edges || []).slice().sort((a, b) => edgeCost(b, last) - edgeCost(a, last));

  function graphTab() {
    if (!data.functions.length) { return [el('div', { class: 'note' }, 'There are no functions.')]; }
    const focus = state.focus;
    const name = functionName(focus);
    const side = (title, edges, other) => el('div', null, el('h2', null, title), el('table', null,
      el('thead', null, el('tr', null, heads('cost'), el('th', { class: 'n' }, 'calls'), el('th', null, 'function'))),
      el('tbody', null, byCost(edges).slice(0, 100).map((edge) => el('tr', null, costs((run) => edgeCost(edge, run)),
        el('td', { class: 'n' }, number(edge[2 + last][0])), el('td', { class: 'name' }, link(edge[other])))))));
    const places = [];
    const source = data.sources.findIndex((each) => data.names[each.file] === fileName(focus));
    if (source >= 0 && data.sources[source].found) {
      places.push(el('button', { class: 'link', onclick: () => { state.source = source; state.tab = 'Source'; draw(); } }, 'source'), ' ');
    }
    if (data.code.some((each) => each.function === focus)) {
      places.push(el('button', { class: 'link', onclick: () => { state.tab = 'Instructions'; draw(); } }, 'instructions'));
    }
    return [el('h2', { id: 'focus' }, name), el('div', { class: 'note' }, fileName(focus), ' [', objectName(focus), '] ', places),
      picture(focus), el('div', { class: 'columns' }, side('Callers', callersOf.get(focus), 0),
        side('Callees', calleesOf.get(focus), 1))];
  }
  // Two levels of callers on the left, two of callees on the right.
  function picture(focus) {
    const columns = [[], [], [focus], [], []], lines = [], width = 210, gap = 60, height = 34;
    const place = new Map([[focus, 2]]);
    const grow = (column, next, edges, other, most) => {
      for (const index of columns[column]) {
        for (const edge of byCost(edges.get(index)).slice(0, most)) {
          const to = edge[other];
          if (!place.has(to)) { place.set(to, next); columns[next].push(to); }
          if (place.get(to) === next) { lines.push(edge); }
        }
      }
    };
    grow(2, 1, callersOf, 0, 8); grow(1, 0, callersOf, 0, 3); grow(2, 3, calleesOf, 1, 8); grow(3, 4, calleesOf, 1, 3);
    const rows = Math.max(...columns.map((column) => column.length));
    const at = new Map();
    columns.forEach((column, x) => column.forEach((index, y) => {
      at.set(index, [x * (width + gap), (y + (rows - column.length) / 2) * (height + 8)]);
    }));
    const most = Math.max(1, ...lines.map((edge) => edgeCost(edge, last)));
    const paths = lines.map((edge) => {
      const [x1, y1] = at.get(edge[0]), [x2, y2] = at.get(edge[1]);
      const a = x1 + width, b = y1 + height / 2, d = y2 + height / 2;
      return svg('path', { d: `M${a} ${b} C${a + gap / 2} ${b} ${x2 - gap / 2} ${d} ${x2} ${d}`,
        'stroke-width': 0.6 + 5 * edgeCost(edge, last) / most },
      svg('title', null, functionName(edge[0]), ' → ', functionName(edge[1]), ': ', number(edge[2 + last][0]), ' calls, ',
        number(edgeCost(edge, last))));
    });
    const nodes = [...at].map(([index, [x, y]]) => svg('g', { class: index === focus ? 'focus' : null,
      onclick: () => { state.focus = index; draw(); } },
    svg('rect', { x, y, width, height, rx: 4 }),
    svg('text', { x: x + 6, y: y + 14 }, cut(functionName(index), 34)),
    svg('text', { x: x + 6, y: y + 28, fill: '#666' }, share(inclusive(index, last), last), ' incl. ', share(own(index, last), last), ' self'),
    svg('title', null, functionName(index))));
    const wide = 5 * width + 4 * gap;
    return svg('svg', { class: 'graph', viewBox: `-2 -2 ${wide + 4} ${rows * (height + 8) + 4}`, width: '100%',
      height: Math.min(520, rows * (height + 8) + 8) }, paths, nodes);
  }
  const cut = (text, length) => text.length <= length ? text : text.slice(0, length - 1) + '…';

  function callRows(list, width) {
    return list.map(([callee, count, of]) => el('tr', { class: 'call' }, cost(of[state.event], last), compared ? el('td') : null,
      el('td', { colspan: width }, '=> ', link(callee), ` (${number(count)}x)`)));
  }
  function sourceTab() {
    const match = matcher();
    const options = data.sources.map((each, index) => el('option', { value: index }, data.names[each.file] + (each.found ? '' : ' (not found)')));
    const select = el('select', { id: 'file', onchange: (event) => { state.source = +event.target.value; draw(); } }, options);
    const source = data.sources[state.source];
    if (!source) { return [el('div', { class: 'note' }, 'There are no source files.')]; }
    select.value = state.source;
    const rows = [];
    let before = 0;
    for (const [line, text, sides, called] of source.lines) {
      if (source.found && line > before + 1) { rows.push(el('tr', { class: 'gap' }, el('td', { colspan: 4 }, '⋯'))); }
      before = line;
      const hit = state.search && text !== null && match(text);
      rows.push(el('tr', { class: hit ? 'chosen' : null }, costs((run) => sides[run] ? sides[run][state.event] : 0),
        el('td', { class: 'n soft' }, line || '?'), el('td', { class: 'text' }, text === null ? '' : text)));
      rows.push(...callRows(called, 2));
    }
    return [select, el('div', { class: 'note' }, source.found ? '' : 'The file was not found when this page was made (-I DIR).'),
      el('table', { class: 'code' }, el('thead', null, el('tr', null, heads('cost'), el('th', { class: 'n' }, 'line'), el('th', { class: 'text' }, ''))),
        el('tbody', null, rows))];
  }
  function codeTab() {
    if (!data.code.length) { return [el('div', { class: 'note' }, 'The profile has no addresses (--dump-instr=yes).')]; }
    let code = data.code.find((each) => each.function === state.focus);
    if (!code) { code = data.code[0]; }
    const select = el('select', { onchange: (event) => { state.focus = +event.target.value; draw(); } },
      data.code.map((each) => el('option', { value: each.function }, functionName(each.function))));
    select.value = code.function;
    const rows = [];
    let place = '';
    for (const [address, text, file, line, of, called, jumps] of code.rows) {
      const here = data.names[file] + ':' + line;
      const leaves = jumps.map(([target, executed, followed]) => followed === null
        ? ` → ${target} (${number(executed)}x)` : ` → ${target} (${number(followed)} of ${number(executed)})`).join('');
      rows.push(el('tr', null, cost(of[state.event], last), compared ? el('td') : null, el('td', { class: 'n soft' }, address),
        el('td', { class: 'text' }, text === null ? '' : text, el('span', { class: 'soft' }, leaves)),
        el('td', { class: 'soft where' }, here === place ? '' : here)));
      place = here;
      rows.push(...callRows(called, 3));
    }
    return [select, el('div', { class: 'note' }, code.found ? '' : 'The object was not there when this page was made, or capstone was not installed.',
      compared ? ' Of the new run.' : ''),
    el('table', { class: 'code' }, el('tbody', null, rows))];
  }

  // -- Page --

  const TABS = { 'Functions': functionsTab, 'Call graph': graphTab, 'Flame graph': flameTab, 'Source': sourceTab, 'Instructions': codeTab };
  const main = el('main'), details = el('div', { id: 'details' });
  const tell = (text) => { details.textContent = text; };
  const buttons = Object.keys(TABS).map((name) => el('button', { onclick: () => { state.tab = name; draw(); } }, name));
  const search = el('input', { type: 'search', placeholder: 'search (regular expression)', id: 'search',
    oninput: (event) => { state.search = event.target.value; draw(); } });
  const events = el('select', { id: 'event', onchange: (event) => { state.event = +event.target.value; draw(); } },
    data.events.map((event, index) => el('option', { value: index }, event.name + (event.long ? ': ' + event.long : ''))));
  page.append(el('header', null, el('h1', null, data.title), data.runs.map((run, index) => el('div', { class: 'about' },
    compared ? (index ? 'new: ' : 'old: ') : '', run.file, run.creator ? ' (' + run.creator + ')' : '', ' ',
    el('b', { class: 'total', 'data-run': index }), run.error ? el('div', { class: 'bad' }, 'incomplete: ', run.error) : null)),
  el('div', { class: 'bar' }, buttons, events, search)), main, details);

  function draw() {
    buttons.forEach((button) => button.setAttribute('aria-selected', button.textContent === state.tab));
    document.querySelectorAll('.total').forEach((node) => {
      node.textContent = data.events.length ? number(total(+node.dataset.run)) + ' ' + data.events[state.event].name : '';
    });
    try {
      main.replaceChildren(...TABS[state.tab]().filter((node) => node !== null));
    } catch (error) {
      main.replaceChildren(el('div', { class: 'bad' }, String(error)));
    }
    location.replace('#' + encodeURIComponent(state.tab));
    measure();
  }
  // The heads of tables stay below that of the page, whose lines are as many as its width demands.
  function measure() {
    document.documentElement.style.setProperty('--head', document.querySelector('header').offsetHeight + 'px');
  }
  addEventListener('resize', measure);
  const wanted = decodeURIComponent(location.hash.slice(1));
  if (Object.prototype.hasOwnProperty.call(TABS, wanted)) { state.tab = wanted; }
  state.source = Math.max(0, data.sources.findIndex((each) => each.found));
  state.focus = Math.max(0, data.functions.findIndex((each) => data.names[each[0]] === 'main'));
  draw();
}());
