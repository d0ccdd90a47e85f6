"use strict";
// Whatever comes from the log is shown as text (textContent), never as markup.

const at = (id) => document.getElementById(id);
const canvas = at("canvas"), context = canvas.getContext("2d", { alpha: false });
const LEAST = 16; // columns and instructions of a view
const MOST_VIEWS = 30; // to go back to
const NAME = String(Math.random()).slice(2, 14); // pages that look at the same log do not end each other's questions

let state = null; // what the server knows
let view = null; // left, right, top, bottom
let before = []; // views to go back to
let shown = null; // { bitmap, view }
let serial = 0; // of the newest wish for a picture
let waiting = null; // a wish that was not sent yet
let busy = false;
let drag = null;
let spotted = null, looked = 0, lookTimer = 0; // where the pointer is, and the newest question about it

// ---- Questions to the server ----

async function ask(name, query) {
  const answer = await fetch(name + (query ? "?" + new URLSearchParams(query) : ""));
  if (!answer.ok) throw Object.assign(new Error(await answer.text()), { isOld: answer.status === 409 });
  return answer;
}

// About columns, which are those of one filter: refused when there is another.
const askOf = (name, query) => ask(name, { ...query, generation: state.generation, page: NAME });

async function load(mine, exact) {
  const { left, right, top, bottom } = view, wanted = { left, right, top, bottom }, generation = state.generation;
  try {
    const answer = await askOf("picture", { ...wanted, width: canvas.width, height: canvas.height, exact: exact ? 1 : 0 });
    const bitmap = await createImageBitmap(await answer.blob());
    const isExact = answer.headers.get("X-Exact") === "1";
    // A picture of a view that is gone is better than none, unless a newer one is there.
    if (generation === state.generation && (mine === serial || !exact)) {
      shown = { bitmap, view: wanted };
      paint();
    }
    if (mine !== serial) return;
    if (isExact) {
      document.body.dataset.exact = String(mine);
    } else {
      setTimeout(() => { if (mine === serial) load(mine, true); }, 120);
    }
  } catch (error) {
    if (mine !== serial) return;
    if (error.isOld) watch();
    else tell(error.message);
  }
}

// One question at a time: the newest wish waits for the answer to the one before.
async function want() {
  serial++;
  waiting = serial;
  paint();
  if (spotted && !drag) look(spotted);
  if (busy) return;
  busy = true;
  while (waiting !== null) {
    const mine = waiting;
    waiting = null;
    await load(mine, false);
  }
  busy = false;
}

// ---- The picture ----

function paint() {
  context.imageSmoothingEnabled = false;
  context.fillStyle = "#000";
  context.fillRect(0, 0, canvas.width, canvas.height);
  if (!shown || !view) return;
  const across = canvas.width / (view.right - view.left), down = canvas.height / (view.bottom - view.top);
  const old = shown.view;
  const x = (old.left - view.left) * across, y = (old.top - view.top) * down;
  context.drawImage(shown.bitmap, x, y, (old.right - old.left) * across, (old.bottom - old.top) * down);
}

function resize() {
  const box = canvas.getBoundingClientRect(), scale = window.devicePixelRatio || 1;
  const width = Math.max(1, Math.round(box.width * scale)), height = Math.max(1, Math.round(box.height * scale));
  if (canvas.width !== width || canvas.height !== height) {
    canvas.width = width;
    canvas.height = height;
    if (view) want();
  }
}

let labelled = 0;
async function labels() {
  const mine = ++labelled, of = view, { left, right, top, bottom } = view;
  at("top").textContent = top.toLocaleString("en");
  at("bottom").textContent = bottom.toLocaleString("en");
  document.body.dataset.view = [left, right, top, bottom].join(",");
  const columns = [left, Math.floor((left + right) / 2), right - 1];
  let found;
  try {
    found = await (await askOf("addresses", { columns: columns.join(",") })).json();
  } catch {
    return; // There is another filter, and its labels are asked for.
  }
  of.addresses = [found[0], found[2]];
  if (mine !== labelled) return;
  ["left", "middle", "right"].forEach((id, n) => { at(id).textContent = found[n]; });
}

// ---- Views ----

function fitted(first, last, most) {
  let size = Math.round(Math.min(Math.max(last - first, Math.min(LEAST, most)), most));
  size = Math.max(size, 1);
  const begin = Math.min(Math.max(Math.round(first), 0), most - size);
  return [begin, begin + size];
}

function show(next, keep) {
  const [left, right] = fitted(next.left, next.right, Math.max(state.columns, 1));
  const [top, bottom] = fitted(next.top, next.bottom, Math.max(state.instrs, 1));
  const same = view && view.left === left && view.right === right && view.top === top && view.bottom === bottom;
  if (same) return;
  if (view && keep) {
    before.push(view);
    if (before.length > MOST_VIEWS) before.shift();
  }
  view = { left, right, top, bottom };
  want();
  view.known = labels();
}

function zoom(across, down, x = 0.5, y = 0.5) {
  const width = view.right - view.left, height = view.bottom - view.top;
  const column = view.left + width * x, instr = view.top + height * y;
  show({
    left: column - width * across * x, right: column + width * across * (1 - x),
    top: instr - height * down * y, bottom: instr + height * down * (1 - y),
  }, true);
}

function move(x, y) {
  const across = (view.right - view.left) * x, down = (view.bottom - view.top) * y;
  show({ left: view.left + across, right: view.right + across, top: view.top + down, bottom: view.bottom + down }, false);
}

function everything() {
  show({ left: 0, right: state.columns, top: 0, bottom: state.instrs }, true);
}

function back() {
  const last = before.pop();
  if (last) show(last, false);
}

// ---- Mouse and keys ----

const place = (event) => {
  const box = canvas.getBoundingClientRect();
  return { x: (event.clientX - box.left) / box.width, y: (event.clientY - box.top) / box.height };
};
const within = (number) => Math.min(Math.max(number, 0), 1);

canvas.addEventListener("pointerdown", (event) => {
  if (!view) return;
  const moves = event.button === 1 || event.button === 2 || event.shiftKey;
  drag = { from: place(event), view, moves };
  canvas.setPointerCapture(event.pointerId);
  canvas.focus();
  event.preventDefault();
});

canvas.addEventListener("pointermove", (event) => {
  if (!view) return;
  const to = place(event);
  if (!drag) return look(to);
  if (drag.moves) {
    const across = (drag.view.right - drag.view.left) * (drag.from.x - to.x);
    const down = (drag.view.bottom - drag.view.top) * (drag.from.y - to.y);
    show({ left: drag.view.left + across, right: drag.view.right + across, top: drag.view.top + down, bottom: drag.view.bottom + down }, false);
    return;
  }
  const x0 = within(Math.min(drag.from.x, to.x)), x1 = within(Math.max(drag.from.x, to.x));
  const y0 = within(Math.min(drag.from.y, to.y)), y1 = within(Math.max(drag.from.y, to.y));
  const box = at("selection");
  box.hidden = false;
  Object.assign(box.style, { left: x0 * 100 + "%", top: y0 * 100 + "%", width: (x1 - x0) * 100 + "%", height: (y1 - y0) * 100 + "%" });
  drag.box = { x0, x1, y0, y1 };
});

canvas.addEventListener("pointerup", () => {
  if (drag && drag.box) {
    const { x0, x1, y0, y1 } = drag.box, box = canvas.getBoundingClientRect();
    if ((x1 - x0) * box.width > 3 && (y1 - y0) * box.height > 3) {
      const width = view.right - view.left, height = view.bottom - view.top;
      show({ left: view.left + width * x0, right: view.left + width * x1, top: view.top + height * y0, bottom: view.top + height * y1 }, true);
    }
  }
  at("selection").hidden = true;
  drag = null;
});
canvas.addEventListener("pointercancel", () => { drag = null; at("selection").hidden = true; });
canvas.addEventListener("contextmenu", (event) => event.preventDefault());

canvas.addEventListener("wheel", (event) => {
  if (!view) return;
  event.preventDefault();
  const { x, y } = place(event), factor = Math.pow(1.25, Math.sign(event.deltaY || event.deltaX));
  zoom(event.altKey ? 1 : factor, event.shiftKey ? 1 : factor, x, y);
}, { passive: false });

const KEYS = {
  "+": () => zoom(0.5, 0.5), "=": () => zoom(0.5, 0.5), "-": () => zoom(2, 2), "0": everything, Backspace: back,
  ArrowLeft: () => move(-0.2, 0), ArrowRight: () => move(0.2, 0), ArrowUp: () => move(0, -0.2), ArrowDown: () => move(0, 0.2),
};
document.addEventListener("keydown", (event) => {
  const action = KEYS[event.key];
  if (!view || !action || event.ctrlKey || event.metaKey || event.target.tagName === "INPUT") return;
  event.preventDefault();
  action();
});

for (const [id, action] of Object.entries({
  in: () => zoom(0.5, 0.5), out: () => zoom(2, 2), all: everything, back,
  "address-in": () => zoom(0.5, 1), "address-out": () => zoom(2, 1),
  "time-in": () => zoom(1, 0.5), "time-out": () => zoom(1, 2),
})) at(id).addEventListener("click", () => view && action());

// ---- What is at the pointer ----

function look(spot) {
  spotted = spot;
  clearTimeout(lookTimer);
  const mine = ++looked;
  lookTimer = setTimeout(async () => {
    const across = (view.right - view.left) / canvas.width, down = (view.bottom - view.top) / canvas.height;
    const x = Math.min(Math.floor(spot.x * canvas.width), canvas.width - 1);
    const y = Math.min(Math.floor(spot.y * canvas.height), canvas.height - 1);
    // The pixel and its neighbours: one pixel is hard to meet.
    const left = Math.max(0, Math.floor(view.left + (x - 1) * across)), top = Math.max(0, Math.floor(view.top + (y - 1) * down));
    const right = Math.max(left + 1, Math.ceil(view.left + (x + 2) * across));
    const bottom = Math.max(top + 1, Math.ceil(view.top + (y + 2) * down));
    const patience = setTimeout(() => mine === looked && at("spot").replaceChildren("Reading accesses and names …"), 300);
    try {
      const found = await (await askOf("at", { left, right, top, bottom, width: 1, height: 1 })).json();
      if (mine !== looked) return;
      describe(found);
      document.body.dataset.spot = String(mine);
    } catch {
      // A newer question took its place.
    } finally {
      clearTimeout(patience);
    }
  }, 40);
}

function element(name, text, parent) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  parent.append(made);
  return made;
}

function stack(title, levels, parent) {
  element("h2", title, parent);
  const list = element("ol", undefined, parent);
  for (const level of levels) element("li", level.text, list).title = [level.ip, level.path, level.object].filter(Boolean).join("\n");
}

function describe(found) {
  const box = document.createElement("div");
  const number = (n) => n.toLocaleString("en");
  if (found.dir) {
    element("h2", `${found.dir} of ${found.size} bytes`, box).className = "kind";
    element("p", `address ${found.address}`, box);
    element("p", `after ${number(found.instr)} instructions`, box);
    element("p", `here: ${number(found.sums[0])} reads, ${number(found.sums[1])} writes, ${number(found.sums[2])} fetches`, box);
    stack("Instruction and callers", found.stack, box);
  } else {
    element("h2", found.reading ? "The log is being read" : found.tooMany ? "Too many accesses in this pixel" : "No access", box);
    element("p", `address ${found.address}`, box);
    element("p", `after ${number(found.instr)} instructions`, box);
  }
  if (found.variable) element("p", `variable ${found.variable}`, box);
  for (const label of found.labels) element("p", label, box);
  if (found.block) {
    const until = found.block.end === null ? "never freed" : `freed after ${number(found.block.end)}`;
    stack(`Heap block of ${number(found.block.size)} bytes`, found.block.stack, box);
    element("p", `${number(found.block.offset)} bytes into ${found.block.address}, made after ${number(found.block.begin)} instructions, ${until}`, box);
  }
  at("spot").replaceChildren(...box.childNodes);
}

// ---- Filters ----

function tell(text) {
  at("message").textContent = text || "";
}

function noted() {
  if (state.failed) return state.failed;
  if (state.busy !== null) return `Reading: ${Math.round(state.busy * 100)} %`;
  if (state.empty) return "No accesses match the criteria.";
  if (state.error) return state.error;
  return state.leftOut ? `${state.leftOut} accesses are left out: too many pages` : "";
}

// Views of another filter, found again by their addresses: other pages may be left out now.
const isAll = (one, of) => one.left === 0 && one.right === of.columns && one.top === 0 && one.bottom === of.instrs;

async function carried(views) {
  const known = views.filter((one) => !one.isAll && one.addresses);
  const found = known.length ? await (await askOf("columns", { addresses: known.flatMap((one) => one.addresses).join(",") })).json() : [];
  return views.filter((one) => one.isAll || one.addresses).map((one) => {
    const n = 2 * known.indexOf(one);
    if (one.isAll) return { left: 0, right: state.columns, top: 0, bottom: state.instrs };
    const isGone = found[n + 1] <= found[n]; // nothing of it is left
    return { left: isGone ? 0 : found[n], right: isGone ? state.columns : found[n + 1] + 1, top: one.top, bottom: one.bottom, addresses: one.addresses };
  });
}

let kept = []; // views of the filter before one that nothing matches

async function refresh() {
  const old = state;
  state = await (await ask("state")).json();
  document.title = state.file;
  tell(noted());
  if (!old || state.generation !== old.generation) {
    const generation = state.generation;
    if (!old) {
      at("events").value = state.events;
      at("ranges").value = state.ranges;
      at("fetches").checked = state.fetches;
    }
    let views = view ? [...before, view] : [];
    await Promise.all(views.map((one) => one.known)); // the last one may have come a moment ago
    if (old && old.empty) views = kept;
    else if (old) views = views.map((one) => ({ ...one, isAll: isAll(one, old) }));
    kept = views;
    views = state.empty ? [] : await carried(views).catch(() => []);
    if (state.generation !== generation) return true;
    view = null;
    shown = null;
    const next = views.pop();
    before = views;
    if (next) show(next, false);
    else everything();
    document.body.dataset.generation = String(generation);
  }
  return state.busy !== null;
}

let watching = null, again = false;
function watch() {
  again = true; // what is being asked for may be of before
  watching ??= (async () => {
    while (again) {
      again = false;
      if (await refresh()) again = await new Promise((resolve) => setTimeout(resolve, 150, true));
    }
  })().finally(() => { watching = null; });
  return watching;
}

at("filter").addEventListener("submit", async (event) => {
  event.preventDefault();
  const wanted = { events: at("events").value.trim(), ranges: at("ranges").value.trim(), fetches: at("fetches").checked };
  const answer = await fetch("filter", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(wanted) });
  if (!answer.ok) return tell(await answer.text());
  await watch();
});

new ResizeObserver(resize).observe(canvas.parentElement);
resize();
watch();
