// The parts of a page: lines, panes, controls, cards, tabs.

/** A line that a screen reader announces when it changes: `.say(text)`. */
function live(props = {}) {
  const node = h("div", { class: "loom-status", role: "status", "aria-live": "polite", ...props });
  node.say = (text) => {
    const joined = unbroken(text);
    if (node.textContent !== joined) node.textContent = joined;
  };
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
  const note = hint ? h("span", { class: "loom-hint", id: newId("hint") }, hint) : null;
  if (note) control.setAttribute("aria-describedby", note.id);
  const node = h("div", { class: "loom-field" }, h("label", { for: control.id }, label), control, note);
  Object.defineProperty(node, "value", { get: () => control.value, set: (value) => { control.value = value ?? ""; } });
  node.control = control;
  return node;
}
function field(label, { hint, ...props } = {}) {
  return labelled(label, h("input", { type: "text", autocomplete: "off", spellcheck: "false", ...props }), { hint });
}
function textarea(label, { hint, ...props } = {}) { return labelled(label, h("textarea", { rows: 3, ...props }), { hint }); }
/** Options are texts or `[value, text]`; `.options(list, chosen)` replaces them; `none` is shown when there are no options. */
function select(label, options = [], { hint, none = "none yet", ...props } = {}) {
  const control = h("select", props);
  const node = labelled(label, control, { hint });
  let shown = null;
  node.options = (list, chosen = control.value) => {
    const now = JSON.stringify(list);
    if (shown === now) { if (list.some((item) => (Array.isArray(item) ? item[0] : item) === chosen)) control.value = chosen; return; }
    shown = now;
    refill(control, (list.length ? list : [["", none]]).map((item) => {
      const [value, text] = Array.isArray(item) ? item : [item, item];
      return h("option", { value }, text);
    }));
    if (list.some((item) => (Array.isArray(item) ? item[0] : item) === chosen)) control.value = chosen;
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
  READY: "good", complete: "good", ACTIVE: "good", Active: "good", PREPARED: "good", found: "good", done: "good", passed: "good", connected: "good", ok: "good",
  CREATE_FAILED: "bad", UPDATE_FAILED: "bad", DELETED: "bad", error: "bad", failed: "bad", FAILED: "bad",
};
/** A dot with its word; the word carries the meaning. `kind`: good, bad or wait; by default it follows from the word. */
function statusDot(word, kind = STATES[word] ?? "wait") {
  const sign = { good: "●", bad: "▲", wait: "◌" }[kind] ?? "◌";
  return h("span", { class: `loom-dot loom-${kind}` }, h("span", { "aria-hidden": "true" }, sign), ` ${word}`);
}

/** A box with a title; `state` is a word for the dot. Content that is added later goes into `.body`. */
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
    for (const scroller of bodies[index].querySelectorAll(".loom-scroll")) scroller.dispatchEvent(new CustomEvent("loom-shown"));
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

const folded = (title, ...children) => h("details", null, h("summary", null, title), children);
const block = (label, text) => h("pre", { tabindex: 0, "aria-label": label, style: { "unicode-bidi": "plaintext" } }, calm(text));

/** A static table of a few rows: `{head, rows}`. */
function plainTable(label, { head, rows }) {
  const CELL = { "text-align": "left", padding: "3px 8px", "vertical-align": "top", "overflow-wrap": "break-word" };
  return h("div", { class: "loom-scroll", tabindex: 0, role: "region", "aria-label": label, style: { margin: "6px 0" } },
    h("table", { class: "loom-plain", "aria-label": label, style: { width: "100%", "border-collapse": "collapse", "font-size": "12px" } },
      h("thead", null, h("tr", null, head.map((name) => h("th", { scope: "col", style: CELL }, name)))),
      h("tbody", null, rows.map((row) => h("tr", null, row.map((value) => h("td", { style: CELL }, calm(value))))))));
}
