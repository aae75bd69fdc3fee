// What every panel's view stands on. The text of this file is put in front of the panel's own.
// Foreign text becomes text nodes and allowed attributes only; there is no way here to set markup.

const SVG = "http://www.w3.org/2000/svg";
const ALLOWED = new Set(("class id for type value placeholder rows cols min max step disabled checked selected multiple "
  + "readonly required open hidden name title role tabindex scope colspan rowspan lang dir autocomplete spellcheck "
  + "width height viewBox x y x1 y1 x2 y2 cx cy r rx d points fill stroke stroke-width stroke-dasharray "
  + "text-anchor transform preserveAspectRatio").split(" "));
const NUMBER = new Intl.NumberFormat("en", { maximumFractionDigits: 3 });
let madeIds = 0;

/** An id that no other element of the page has. */
function newId(stem = "loom") {
  madeIds += 1;
  return `${stem}-${Math.random().toString(36).slice(2, 8)}-${madeIds}`;
}

/**
 * An element. `props`: allowed attributes, `aria-*`, `data-*`, `style` as an object of custom or plain properties, and
 * `on*` functions. Children: nodes, texts, numbers, arrays of them; null and false are left out.
 */
function h(tag, props, ...children) { return fill(document.createElement(tag), props, children); }
/** The same for SVG. */
function s(tag, props, ...children) { return fill(document.createElementNS(SVG, tag), props, children); }

function fill(node, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on") && typeof value === "function") node.addEventListener(name.slice(2).toLowerCase(), value);
    else if (name === "style") for (const [key, each] of Object.entries(value)) node.style.setProperty(key, String(each));
    else if (name === "value" && "value" in node) node.value = String(value);
    else if (name === "checked" && "checked" in node) node.checked = Boolean(value);
    else if (ALLOWED.has(name) || name.startsWith("aria-") || name.startsWith("data-")) {
      node.setAttribute(name, value === true ? (name.startsWith("aria-") ? "true" : "") : String(value));
    } else throw new Error(`the kit sets no attribute ${name}`);
  }
  put(node, children);
  return node;
}

function put(node, children) {
  for (const child of [children].flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return node;
}

/** Empties a node and puts these children into it. */
function refill(node, ...children) { node.replaceChildren(); return put(node, children); }

/** A link that opens elsewhere, for checked https addresses; anything else is its text alone. */
function link(address, text = address) {
  let url = null;
  try { url = new URL(String(address)); } catch { /* no address */ }
  if (url === null || url.protocol !== "https:" || url.username || url.password) return h("span", null, text);
  const node = h("a", { class: "loom-link" }, text);
  node.href = url.href;
  node.target = "_blank";
  node.rel = "noopener noreferrer";
  return node;
}

// ---- words and numbers ----

/** A duration for people: `6.1 ms`, `312 ms`, `2.34 s`; `–` when there is none. */
function ms(value) {
  if (value === null || value === undefined || Number.isNaN(Number(value))) return "–";
  const n = Number(value);
  if (Math.abs(n) >= 10000) return `${(n / 1000).toFixed(1)} s`;
  if (Math.abs(n) >= 1000) return `${(n / 1000).toFixed(2)} s`;
  return Math.abs(n) >= 100 ? `${n.toFixed(0)} ms` : `${n.toFixed(1)} ms`;
}
/** A number with thin spaces between thousands; `–` when there is none. */
function num(value, digits = 3) {
  if (value === null || value === undefined || value === "" || Number.isNaN(Number(value))) return "–";
  return NUMBER.format(Number(Number(value).toFixed(digits))).replaceAll(",", "\u2009");
}
/** A moment: Unix seconds, or text of ISO 8601, in the reader's own time. */
function when(value) {
  if (value === null || value === undefined || value === "") return "–";
  const date = typeof value === "number" ? new Date(value * 1000) : new Date(value);
  if (Number.isNaN(date.getTime())) return String(value);
  const two = (n) => String(n).padStart(2, "0");
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} `
    + `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}
/** One line of a stranger's text, cut. */
function short(text, longest = 80) {
  const line = String(text ?? "").replace(/[\s\p{Cc}]+/gu, " ");
  return line.length > longest ? `${line.slice(0, longest - 1)}…` : line;
}

// ---- the kernel's other end ----

const ANSWER_S = 5;
const CALLS = new WeakMap();
const SILENT = "The kernel does not answer. It may be running a cell, or it has ended: look at the kernel's state above "
  + "the notebook, and run the panel's cell again after a restart.";

/** Calls `f` for each message of that kind; returns what stops it. */
function onMessage(model, kind, f) {
  const heard = (message) => { if (message && message.is === kind) f(message); };
  model.on("msg:custom", heard);
  return () => model.off("msg:custom", heard);
}

/** Calls `f` now and whenever one of these traits changes; returns what stops it. */
function onState(model, names, f) {
  const list = [names].flat();
  for (const name of list) model.on(`change:${name}`, f);
  f();
  return () => { for (const name of list) model.off(`change:${name}`, f); };
}

function callsOf(model) {
  let calls = CALLS.get(model);
  if (calls) return calls;
  calls = { waiting: new Map(), silent: new Set() };
  CALLS.set(model, calls);
  model.on("msg:custom", (message) => {
    const call = message && calls.waiting.get(message.id);
    if (!call) return;
    if (message.is === "heard") call.heard();
    else if (message.is === "done") { calls.waiting.delete(message.id); call.heard(); call.resolve(message.value ?? {}); }
    else if (message.is === "failed") { calls.waiting.delete(message.id); call.heard(); call.resolve(null); }
  });
  return calls;
}

/**
 * Asks the panel's `@action` of that name, with the form's content in the message. Resolves with what it returned, or
 * with null when it failed (the error pane says why). When the kernel does not even hear it, a sentence is shown.
 */
function act(model, name, form = {}) {
  const calls = callsOf(model);
  const id = newId("call");
  return new Promise((resolve) => {
    const timer = setTimeout(() => { for (const tell of calls.silent) tell(SILENT); }, ANSWER_S * 1000);
    const heard = () => { clearTimeout(timer); for (const tell of calls.silent) tell(""); };
    calls.waiting.set(id, { resolve, heard });
    try {
      model.send({ do: name, with: form, id });
    } catch {
      clearTimeout(timer);
      for (const tell of calls.silent) tell(SILENT);
      resolve(null);
    }
  });
}

/** Stops what runs in a lane (in all of them). */
function stop(model, lane = null) { return act(model, "stop", { lane }); }

// ---- parts of a page ----

/** A line that a screen reader speaks when it changes: `.say(text)`. */
function live(props = {}) {
  const node = h("div", { class: "loom-status", role: "status", "aria-live": "polite", ...props });
  node.say = (text) => { if (node.textContent !== text) node.textContent = text; };
  return node;
}

/** What failed, on what, what to try: `.show({what, on, try})`. */
function errorPane(onDismiss = null) {
  const node = h("div", { class: "loom-error", role: "alert", hidden: true });
  node.show = (error) => {
    node.hidden = !error || !error.what;
    if (node.hidden) return void node.replaceChildren();
    refill(node,
      h("p", null, h("strong", null, "Failed: "), error.what),
      error.on && h("p", null, h("strong", null, "On: "), error.on),
      error.try && h("p", null, h("strong", null, "Try: "), error.try),
      onDismiss && button("Dismiss", onDismiss, { class: "loom-quiet" }));
  };
  return node;
}

/** The last action as Python, with Copy: `.show(text)`. */
function codeDrawer() {
  const text = h("pre", { class: "loom-code", tabindex: 0, "aria-label": "the last action as Python" });
  const said = live({ class: "loom-said" });
  const copy = button("Copy as Python", async () => {
    try {
      await navigator.clipboard.writeText(text.textContent);
      said.say("Copied.");
    } catch {
      getSelection().selectAllChildren(text);
      said.say("Selected: press Ctrl+C.");
    }
  });
  const node = h("details", { class: "loom-drawer", hidden: true }, h("summary", null, "As Python"), text, copy, said);
  node.show = (code) => { node.hidden = !code; text.textContent = code; said.say(""); };
  return node;
}

/** A button. `props` may hold `kind: "main" | "danger"` and attributes. */
function button(text, onClick, { kind = "", ...props } = {}) {
  const { class: extra = "", ...rest } = props;
  return h("button", { type: "button", class: `loom-button ${kind ? `loom-${kind}` : ""} ${extra}`, onclick: onClick, ...rest }, text);
}

/** A button that asks once more before it acts. */
function confirmButton(text, question, onYes, props = {}) {
  const box = h("span", { class: "loom-confirm" });
  const first = button(text, () => {
    refill(box, h("span", null, question, " "), yes, " ", no);
    no.focus();
  }, props);
  const back = () => { refill(box, first); first.focus(); };
  const yes = button("Yes", () => { back(); onYes(); }, { kind: "danger" });
  const no = button("No", back);
  box.addEventListener("keydown", (event) => { if (event.key === "Escape") back(); });
  return put(box, first);
}

/** A labelled control. `.value` reads and sets it; `.control` is the element itself. */
function labelled(label, control, { hint = "" } = {}) {
  control.id ||= newId("field");
  const told = hint ? h("span", { class: "loom-hint", id: newId("hint") }, hint) : null;
  if (told) control.setAttribute("aria-describedby", told.id);
  const node = h("div", { class: "loom-field" }, h("label", { for: control.id }, label), control, told);
  Object.defineProperty(node, "value", { get: () => control.value, set: (value) => { control.value = value ?? ""; } });
  node.control = control;
  return node;
}
function field(label, { hint, ...props } = {}) {
  return labelled(label, h("input", { type: "text", autocomplete: "off", spellcheck: "false", ...props }), { hint });
}
function textarea(label, { hint, ...props } = {}) { return labelled(label, h("textarea", { rows: 3, ...props }), { hint }); }
/** Options are texts or `[value, text]`; `.options(list, chosen)` replaces them. */
function select(label, options = [], { hint, ...props } = {}) {
  const control = h("select", props);
  const node = labelled(label, control, { hint });
  node.options = (list, chosen = control.value) => {
    refill(control, list.map((each) => {
      const [value, text] = Array.isArray(each) ? each : [each, each];
      return h("option", { value }, text);
    }));
    if (list.some((each) => (Array.isArray(each) ? each[0] : each) === chosen)) control.value = chosen;
  };
  node.options(options);
  return node;
}
/** A tick box with its label; `.value` is true or false. */
function checkbox(label, { checked = false, ...props } = {}) {
  const control = h("input", { type: "checkbox", id: newId("tick"), checked, ...props });
  const node = h("div", { class: "loom-tick" }, control, h("label", { for: control.id }, label));
  Object.defineProperty(node, "value", { get: () => control.checked, set: (value) => { control.checked = Boolean(value); } });
  node.control = control;
  return node;
}

const STATES = {
  READY: "good", complete: "good", ACTIVE: "good", found: "good", done: "good", passed: "good", connected: "good", ok: "good",
  CREATE_FAILED: "bad", UPDATE_FAILED: "bad", DELETED: "bad", error: "bad", failed: "bad", FAILED: "bad",
};
/** A dot with its word; the word carries the meaning. `kind`: good, bad or wait, found by the word when not given. */
function statusDot(word, kind = STATES[word] ?? "wait") {
  const sign = { good: "●", bad: "▲", wait: "◌" }[kind] ?? "◌";
  return h("span", { class: `loom-dot loom-${kind}` }, h("span", { "aria-hidden": "true" }, sign), ` ${word}`);
}

/** A box with a title; `state` is a word for the dot. `.body` takes what comes later. */
function card(title, { state = "", kind, level = 4 } = {}, ...children) {
  const dot = h("span", { class: "loom-card-state" }, state && statusDot(state, kind));
  const body = h("div", { class: "loom-card-body" }, ...children);
  const node = h("section", { class: "loom-box", "aria-label": String(title) },
    h("div", { class: "loom-card-head" }, h(`h${level}`, null, title), dot), body);
  node.body = body;
  node.state = (word, how) => refill(dot, word && statusDot(word, how));
  return node;
}

/** Names and values as a list: `[[name, value], …]`; values are texts or nodes. */
function facts(pairs) {
  return h("dl", { class: "loom-facts" }, pairs.map(([name, value]) => [h("dt", null, name), h("dd", null, value ?? "–")]));
}

/** Tabs after the WAI-ARIA pattern: `[[title, node], …]`; arrows move. `.open(index)` opens one, `.at` is the open one. */
function tabs(list, { label = "parts" } = {}) {
  const heads = [], bodies = [];
  const node = h("div", { class: "loom-tabs" });
  node.open = (index, focus = false) => {
    node.at = index;
    heads.forEach((head, i) => {
      head.setAttribute("aria-selected", String(i === index));
      head.tabIndex = i === index ? 0 : -1;
      bodies[i].hidden = i !== index;
    });
    if (focus) heads[index].focus();
    bodies[index].dispatchEvent(new CustomEvent("loom-shown"));
    for (const each of bodies[index].querySelectorAll(".loom-scroll")) each.dispatchEvent(new CustomEvent("loom-shown"));
  };
  const move = (event) => {
    const to = { ArrowRight: node.at + 1, ArrowLeft: node.at - 1, Home: 0, End: list.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    node.open((to + list.length) % list.length, true);
  };
  list.forEach(([title, content], i) => {
    const head = h("button", { type: "button", role: "tab", id: newId("tab"), class: "loom-tab", onclick: () => node.open(i) }, title);
    bodies.push(h("div", { role: "tabpanel", id: newId("tabpanel"), "aria-labelledby": head.id, class: "loom-tabbody" }, content));
    head.setAttribute("aria-controls", bodies[i].id);
    heads.push(head);
  });
  put(node, [h("div", { role: "tablist", "aria-label": label, class: "loom-tablist", onkeydown: move }, heads), bodies]);
  node.open(0);
  return node;
}

// ---- tables ----

const ROW_PX = 28, SETTLED_MS = 60;

/**
 * A table of any length: only the rows in sight are in the page.
 *   columns  [{key, name, kind: "text" | "ms" | "number" | "time" | "status", width, show(row) → node or text, sort: false}]
 *   rows     the rows, or
 *   model + table  the name of a table that the kernel keeps (`self.tables.put(name, rows)`): pages are asked for
 *   given    {rows, total}: its first page, where the view has that already (100 rows, or all)
 *   onOpen(row)    called on click, Enter or Space of a row
 *   height   in px (default 280); empty: the sentence when there is no row; label: the table's name for screen readers
 * `.rows(list)` replaces rows; `.reload()` asks the kernel again; `.toEnd()` scrolls down, `.goTo(index)` to a row; `.chosen` is the active row.
 */
function table({ columns, rows = null, model = null, table: name = "", given = null, onOpen = null, height = 280, empty = "Nothing yet.", label = "table" }) {
  let local = rows ?? [], total = local.length, sort = "", down = false, active = -1, firstRow = -1, asked = 0, frame = 0, settling = 0, wanted = [], later = 0, drawnAt = 0;
  const pages = new Map();
  const PAGE = 100;
  const body = h("tbody");
  const above = h("tr", { "aria-hidden": "true", class: "loom-space" }, h("td", { colspan: columns.length }));
  const below = h("tr", { "aria-hidden": "true", class: "loom-space" }, h("td", { colspan: columns.length }));
  const heads = columns.map((column) => {
    const head = h("th", { scope: "col", class: `loom-${column.kind ?? "text"}`, style: column.width ? { width: column.width } : {} });
    if (column.sort === false) return put(head, column.name ?? column.key);
    return put(head, h("button", { type: "button", class: "loom-sort", onclick: () => order(column.key) }, column.name ?? column.key));
  });
  const none = h("p", { class: "loom-empty" }, empty);
  const grid = h("table", {
    class: "loom-table", role: "grid", "aria-label": label, tabindex: 0, "aria-colcount": columns.length,
    style: { "min-width": `${columns.length * 7.5}em` },
  }, h("thead", null, h("tr", { "aria-rowindex": 1 }, heads)), body);
  const scroller = h("div", { class: "loom-scroll", style: { "max-height": `${height}px` } }, grid);
  const node = h("div", { class: "loom-tablebox" }, scroller, none);
  const rowIds = newId("row");

  const at = (index) => model ? pages.get(Math.floor(index / PAGE))?.[index % PAGE] : local[index];
  const cell = (column, row) => {
    if (column.show) return column.show(row);
    const value = row[column.key];
    if (column.kind === "ms") return ms(value);
    if (column.kind === "number") return num(value);
    if (column.kind === "time") return when(value);
    if (column.kind === "status") return statusDot(String(value ?? "–"));
    return short(value ?? "–", 400);
  };
  const ask = async (page) => {
    if (pages.has(page)) return;
    pages.set(page, []);
    const mine = asked;
    const found = await act(model, "page", { table: name, from: page * PAGE, count: PAGE, sort, down });
    if (!found || mine !== asked) return void pages.delete(page);
    pages.set(page, found.rows);
    if (found.total !== total) { total = found.total; if (active >= total) active = -1; }
    draw(true);
  };
  const draw = (again = false) => {
    none.hidden = total > 0;
    scroller.hidden = total === 0;
    const seen = Math.ceil((scroller.clientHeight || height) / ROW_PX);
    const first = Math.max(0, Math.min(Math.floor(scroller.scrollTop / ROW_PX) - 6, total - seen - 12));
    if (first === firstRow && !again) return;
    firstRow = first;
    drawnAt = performance.now();
    const last = Math.min(total, first + seen + 12);
    if (model) {
      // Pages that only fly past are not asked for.
      wanted = [];
      for (let page = Math.floor(first / PAGE); page <= Math.floor(Math.max(first, last - 1) / PAGE); page += 1) wanted.push(page);
      clearTimeout(settling);
      if (again) wanted.forEach(ask); else settling = setTimeout(() => wanted.forEach(ask), SETTLED_MS);
    }
    const made = [];
    for (let i = first; i < last; i += 1) {
      const row = at(i);
      made.push(h("tr", {
        id: `${rowIds}-${i}`, role: "row", "aria-rowindex": i + 2, "aria-selected": onOpen ? String(i === active) : null,
        class: `${i === active ? "loom-active" : ""} ${onOpen ? "loom-opens" : ""} ${i % 2 ? "loom-odd" : ""}`, "data-index": i,
      }, columns.map((column) => h("td", { role: "gridcell", class: `loom-${column.kind ?? "text"}` }, row ? cell(column, row) : "…"))));
    }
    above.firstChild.style.height = `${first * ROW_PX}px`;
    below.firstChild.style.height = `${Math.max(0, total - last) * ROW_PX}px`;
    above.hidden = first === 0;
    below.hidden = last === total;
    body.replaceChildren(above, ...made, below);
    grid.setAttribute("aria-rowcount", String(total + 1));
  };
  const order = (key) => {
    down = sort === key ? !down : false;
    sort = key;
    heads.forEach((head, i) => columns[i].key === key
      ? head.setAttribute("aria-sort", down ? "descending" : "ascending") : head.removeAttribute("aria-sort"));
    if (model) return node.reload();
    const rank = (row) => row[key];
    local = [...local].sort((a, b) => compare(rank(a), rank(b), down));
    draw(true);
  };
  const choose = (index) => {
    active = Math.max(0, Math.min(index, total - 1));
    node.chosen = at(active) ?? null;
    const top = active * ROW_PX, room = scroller.clientHeight - 2 * ROW_PX;
    if (top < scroller.scrollTop) scroller.scrollTop = top;
    else if (top > scroller.scrollTop + room) scroller.scrollTop = top - room;
    draw(true);
    grid.setAttribute("aria-activedescendant", `${rowIds}-${active}`);
  };
  grid.addEventListener("keydown", (event) => {
    if (event.target !== grid) return;
    const seen = Math.max(1, Math.floor(scroller.clientHeight / ROW_PX) - 2);
    const to = { ArrowDown: active + 1, ArrowUp: active - 1, PageDown: active + seen, PageUp: active - seen, Home: 0, End: total - 1 }[event.key];
    if (to !== undefined) { event.preventDefault(); event.stopPropagation(); choose(to); }
    else if ((event.key === "Enter" || event.key === " ") && onOpen && at(active)) {
      event.preventDefault();
      event.stopPropagation();
      onOpen(at(active));
    }
  });
  body.addEventListener("click", (event) => {
    const row = event.target.closest("tr[data-index]");
    if (!row || event.target.closest("button,a,input,select")) return;
    choose(Number(row.dataset.index));
    if (onOpen && at(active)) onOpen(at(active));
  });
  scroller.addEventListener("scroll", () => {
    if (!frame) frame = requestAnimationFrame(() => {
      frame = 0;
      // Rows that fly past are not all drawn: a page as large as JupyterLab takes long to lay out new ones.
      const flies = Math.abs(scroller.scrollTop / ROW_PX - firstRow) > 60 && performance.now() - drawnAt < 150;
      clearTimeout(later);
      if (flies) later = setTimeout(draw, SETTLED_MS); else draw();
    });
  });
  scroller.addEventListener("loom-shown", () => draw(true));
  node.rows = (list) => {
    local = list;
    total = list.length;
    active = -1;
    if (sort) { const key = sort; down = !down; order(key); } else draw(true);
  };
  node.reload = () => { asked += 1; pages.clear(); active = -1; firstRow = -1; total ||= 1; draw(true); };
  node.goTo = async (index) => {
    const page = Math.floor(index / PAGE);
    const found = model && await act(model, "page", { table: name, from: page * PAGE, count: PAGE, sort, down });
    if (found) { pages.set(page, found.rows); total = found.total; firstRow = -1; draw(true); }
    if (index < total) choose(index);
  };
  node.toEnd = () => { scroller.scrollTop = scroller.scrollHeight; draw(true); };
  node.chosen = null;
  if (given) { pages.set(0, given.rows); total = given.total; }
  if (model && !given) node.reload(); else draw(true);
  return node;
}

function compare(a, b, down) {
  const nothing = (value) => value === null || value === undefined || value === "" || Number.isNaN(value);
  if (nothing(a) || nothing(b)) return Number(nothing(a)) - Number(nothing(b));
  const found = typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));
  return down ? -found : found;
}

// ---- the waterfall ----

const PARTS = {
  model: ["#0072B2", "model"], tools: ["#D55E00", "tools"], memory: ["#CC79A7", "memory"], agent: ["#009E73", "agent overhead"],
};
/**
 * Spans as bars over time, any number of them.
 *   bars   [{label, depth, start_ms, duration_ms, part, failed, marks}], parents before their children
 *   model, table, first, last   instead of bars: the table that the kernel keeps, and the ms at which all begins and ends
 *   total  the whole in ms; parts: {part: [colour, name]} (the kernel's own theme; see `PART_COLOURS`)
 */
function waterfall({ bars = [], total = 0, first = null, last = null, parts = PARTS, label = "waterfall", ...rest }) {
  first ??= bars.reduce((least, bar) => Math.min(least, bar.start_ms), 0);
  last ??= bars.reduce((most, bar) => Math.max(most, bar.start_ms + bar.duration_ms), total);
  const width = Math.max(last - first, 1e-6);
  const share = (value) => `${((100 * value) / width).toFixed(3)}%`;
  const columns = [
    { key: "label", name: "span", width: "34%", sort: false, show: (bar) => h("span", {
      class: "loom-span", style: { "padding-left": `${Math.min(bar.depth, 12) * 0.9}em` }, title: short(bar.label, 200),
    }, short(bar.label), bar.failed && h("strong", null, " failed"), bar.marks && h("em", null, ` ${bar.marks}`)) },
    { key: "part", name: "part", width: "10em", sort: false, show: (bar) => parts[bar.part]?.[1] ?? bar.part },
    { key: "start_ms", name: "after", kind: "ms", width: "6.5em", sort: false },
    { key: "duration_ms", name: "took", kind: "ms", width: "6.5em", sort: false },
    { key: "bar", name: "when", sort: false, show: (bar) => h("div", { class: "loom-lane", "aria-hidden": "true" }, h("span", {
      class: `loom-bar ${bar.failed ? "loom-failed" : ""}`,
      style: { left: share(bar.start_ms - first), width: share(bar.duration_ms), background: parts[bar.part]?.[0] ?? "#767b84" },
    })) },
  ];
  return table({ height: 300, empty: "No spans.", ...rest, columns, rows: bars, label });
}

// ---- charts ----

const PALETTE = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"];
const SIGNS = ["●", "■", "◆", "✚", "▲", "★"];

/** Charts as small SVG, each with its numbers as a table behind "Show as table". */
const chart = {
  /** `series: [{name, points: [[x, y], …]}]`; `x: {name, kind}`, `y: {name, kind}` with kind time, ms or number. */
  line: (options) => drawn("line", options),
  dots: (options) => drawn("dots", options),
  /** `bars: [{name, value}]`, `y: {name, kind}`. */
  bars: ({ bars, y = {}, ...rest }) => drawn("bars", { ...rest, y, series: [{ name: y.name ?? "value", points: bars.map((bar, i) => [i, bar.value]) }], names: bars.map((bar) => bar.name) }),
};

function shownAs(kind, value) { return kind === "ms" ? ms(value) : kind === "time" ? when(value) : num(value); }

function ticks(low, high, count = 4) {
  const raw = (high - low) / count || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= raw);
  const found = [];
  for (let at = Math.ceil(low / step) * step; at <= high + step / 1e6; at += step) found.push(at);
  return found;
}

function drawn(form, { title, series, x = {}, y = {}, names = null, height = 180, empty = "Nothing to draw yet." }) {
  const good = series.map((each) => ({ ...each, points: each.points.filter(([a, b]) => Number.isFinite(a) && Number.isFinite(b)) }));
  const all = good.flatMap((each) => each.points);
  const figure = h("figure", { class: "loom-chart" }, title && h("figcaption", null, title));
  if (!all.length) return put(figure, h("p", { class: "loom-empty" }, empty));
  const W = 640, H = height, L = 64, R = 12, T = 8, B = 30;
  const extent = (values) => values.reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [Infinity, -Infinity]);
  let [x0, x1] = extent(all.map(([a]) => a));
  if (form === "bars") [x0, x1] = [-0.5, names.length - 0.5];
  if (x0 === x1) { x0 -= 0.5; x1 += 0.5; }
  const y1 = Math.max(1e-9, extent(all.map(([, b]) => b))[1]) * 1.05, y0 = Math.min(0, extent(all.map(([, b]) => b))[0]);
  const px = (value) => L + ((value - x0) / (x1 - x0)) * (W - L - R);
  const py = (value) => H - B - ((value - y0) / (y1 - y0)) * (H - T - B);
  const said = good.map((each) => {
    const [low, high] = extent(each.points.map(([, b]) => b));
    return `${each.name}: ${each.points.length} values from ${shownAs(y.kind, low)} to ${shownAs(y.kind, high)}`;
  }).join("; ");
  const svg = s("svg", { viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": `${title ?? "chart"}. ${said}` });
  for (const tick of ticks(y0, y1)) {
    svg.append(s("line", { x1: L, x2: W - R, y1: py(tick), y2: py(tick), class: "loom-grid" }),
      s("text", { x: L - 6, y: py(tick) + 4, "text-anchor": "end" }, shownAs(y.kind, tick)));
  }
  if (names) names.slice(0, 24).forEach((name, i) => svg.append(s("text", { x: px(i), y: H - 10, "text-anchor": "middle" }, short(name, 16))));
  else [[x0, "start"], [x1, "end"]].forEach(([at, anchor]) => svg.append(s("text", { x: px(at), y: H - 10, "text-anchor": anchor }, shownAs(x.kind, at))));
  good.forEach((each, i) => {
    const colour = PALETTE[i % PALETTE.length];
    const points = each.points;
    if (form === "line") svg.append(s("polyline", { points: points.map(([a, b]) => `${px(a).toFixed(1)},${py(b).toFixed(1)}`).join(" "), fill: "none", stroke: colour, "stroke-width": 2 }));
    if (form === "bars") for (const [a, b] of points) svg.append(s("rect", { x: px(a - 0.35), width: Math.max(1, px(a + 0.35) - px(a - 0.35)), y: Math.min(py(b), py(0)), height: Math.abs(py(0) - py(b)), fill: colour }));
    else if (form === "dots" || points.length < 60) for (const [a, b] of points.slice(-2000)) svg.append(s("circle", { cx: px(a), cy: py(b), r: 3, fill: colour }));
  });
  const legend = good.length > 1 && h("p", { class: "loom-legend" }, good.map((each, i) => h("span", null,
    h("span", { "aria-hidden": "true", style: { color: PALETTE[i % PALETTE.length] } }, SIGNS[i % SIGNS.length]), ` ${each.name}  `)));
  const rows = good.flatMap((each) => each.points.map(([a, b]) => ({ series: each.name, x: names ? names[a] : a, y: b })));
  const numbers = h("details", { class: "loom-numbers" }, h("summary", null, "Show as table"));
  numbers.addEventListener("toggle", () => {
    if (!numbers.open || numbers.childElementCount > 1) return;
    numbers.append(table({
      label: title ?? "the chart's numbers", rows,
      columns: [...(good.length > 1 ? [{ key: "series" }] : []), { key: "x", name: x.name ?? "x", kind: names ? "text" : x.kind ?? "number" }, { key: "y", name: y.name ?? "value", kind: y.kind ?? "number" }],
    }));
  });
  return put(figure, [svg, legend, numbers]);
}

/**
 * Whoever reads by keyboard keeps the place: when the control with the focus is disabled, the focus waits beside it and
 * comes back with it; when it is taken away or hidden, the focus goes to the like of it that came instead, else to the
 * table or tab before it. Returns what stops it.
 */
function keepFocus(root) {
  let held = null, home = null, parked = null;
  const usable = (node) => node.isConnected && !node.disabled && (node.checkVisibility?.() ?? true);
  const near = (records) => {
    let place = held.isConnected ? held : records.find((each) => [...each.removedNodes].some((node) => node.contains(held)))?.target;
    if (!place || !root.contains(place)) place = root;
    if (held.isConnected && held.disabled && usable(held.parentElement)) { home ??= held; return held.parentElement; }
    const twins = held.isConnected || !held.textContent ? [] : [...place.querySelectorAll(held.tagName)];
    const before = [...root.querySelectorAll("[role=grid],[role=tab][aria-selected=true]")].filter((each) => usable(each)
      && place.compareDocumentPosition(each) & Node.DOCUMENT_POSITION_PRECEDING);
    const found = twins.find((each) => each.textContent === held.textContent && usable(each)) ?? before.at(-1);
    while (!found && place !== root && !(usable(place) && place.offsetHeight)) place = place.parentElement;
    return found ?? place;
  };
  const look = (records) => {
    const now = document.activeElement;
    if (!held || (now && now !== document.body && now !== held)) return;
    if (home && now === held && usable(home)) return void home.focus({ preventScroll: true });
    const aside = held.isConnected && !held.disabled && !records.some((each) => each.type === "attributes" && each.target.contains(held));
    if (aside || usable(held)) return;
    const place = near(records);
    if (place.tabIndex < 0 && !place.hasAttribute("tabindex")) { parked = place; place.tabIndex = -1; }
    place.focus({ preventScroll: true });
  };
  root.addEventListener("focusin", (event) => { held = event.target; if (held !== parked) home = null; });
  root.addEventListener("focusout", (event) => {
    const gone = event.target;
    if (gone === parked) { gone.removeAttribute("tabindex"); parked = null; }
    // What goes by itself is told from what is taken away by the observer, which comes first.
    setTimeout(() => { if (held === gone && usable(gone) && document.activeElement !== gone) held = home = null; });
  });
  const seen = new MutationObserver(look);
  seen.observe(root, { subtree: true, childList: true, attributes: true, attributeFilter: ["disabled", "hidden", "open"] });
  return () => seen.disconnect();
}

// ---- the frame of a panel ----

/**
 * A panel's view: title, status line, error pane and code drawer around what `build(body, model)` makes. `build` may
 * return a function that is called when the view goes; `body.keep(off)` collects such functions as well.
 *
 *     export default { render: (view) => panel(view, (body, model) => { … }) };
 */
function panel({ model, el }, build) {
  const offs = [];
  const root = h("section", { class: "loom-panel" });
  const heading = h("h3");
  const status = live();
  const lost = h("p", { class: "loom-lost", role: "alert", hidden: true });
  const error = errorPane(() => act(model, "dismiss"));
  const code = codeDrawer();
  const body = h("div", { class: "loom-body" });
  const silent = (sentence) => { lost.hidden = !sentence; lost.textContent = sentence; };
  body.keep = (off) => { offs.push(off); return off; };
  // JupyterLab reads keys for itself: arrows and Enter inside a panel are the panel's.
  root.addEventListener("keydown", (event) => {
    if (event.target.matches("input,textarea,select,button,summary,[role=grid],[role=tab]") && event.key !== "Escape") event.stopPropagation();
  });
  root.setAttribute("data-lm-suppress-shortcuts", "true");
  put(root, [h("header", { class: "loom-head" }, heading, status), lost, error, body, code]);
  el.append(root);
  offs.push(keepFocus(root));
  callsOf(model).silent.add(silent);
  offs.push(() => callsOf(model).silent.delete(silent));
  offs.push(onState(model, "title", () => { heading.textContent = model.get("title"); root.setAttribute("aria-label", model.get("title")); }));
  offs.push(onState(model, "status", () => status.say(model.get("status"))));
  offs.push(onState(model, "error", () => error.show(model.get("error"))));
  offs.push(onState(model, "code", () => code.show(model.get("code"))));
  offs.push(onState(model, "busy", () => root.setAttribute("aria-busy", String(Boolean(model.get("busy"))))));
  const ended = () => silent(SILENT);
  model.on("comm_live_update", ended);
  offs.push(() => model.off("comm_live_update", ended));
  try {
    const off = build(body, model);
    if (typeof off === "function") offs.push(off);
  } catch (failure) {
    error.show({ what: "The panel could not be drawn.", on: String(failure?.message ?? failure), try: "Reload the page." });
  }
  return () => { for (const off of offs.splice(0)) off(); root.remove(); };
}
