// The base of every panel's view: elements, texts, and messages to the kernel. The kit's scripts (listed in panel.py) are
// inserted before the panel's own, as text. Untrusted text becomes text nodes and allowed attributes only, never markup.

const SVG = "http://www.w3.org/2000/svg";
const ALLOWED = new Set(("class id for type value placeholder rows cols min max step disabled checked selected multiple "
  + "readonly required open hidden name title role tabindex scope colspan rowspan lang dir autocomplete spellcheck "
  + "width height viewBox x y x1 y1 x2 y2 cx cy r rx d points fill stroke stroke-width stroke-dasharray "
  + "text-anchor transform preserveAspectRatio").split(" "));
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
    else if (name === "style") for (const [key, text] of Object.entries(value)) node.style.setProperty(key, String(text));
    else if (name === "value" && "value" in node) node.value = String(value);
    else if (name === "checked" && "checked" in node) node.checked = Boolean(value);
    else if (ALLOWED.has(name) || name.startsWith("aria-") || name.startsWith("data-")) {
      node.setAttribute(name, value === true ? (name.startsWith("aria-") ? "true" : "") : String(value));
    } else throw new Error(`the kit does not set the attribute ${name}`);
  }
  put(node, children);
  return node;
}

/** Elements that hold sentences and figures: numbers are joined with their units. Other texts stay as they are. */
const SENTENCES = new Set(["P", "DD", "LI", "TD", "FIGCAPTION"]);

function put(node, children) {
  const join = SENTENCES.has(node.tagName) ? unbroken : String;
  for (const child of [children].flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : document.createTextNode(join(String(child))));
  }
  return node;
}

/** Empties a node and puts these children into it. */
function refill(node, ...children) { node.replaceChildren(); return put(node, children); }

/** Elements beside each other, in as many lines as they need. */
function row(...children) { return h("div", { class: "loom-row" }, children); }

/** A link that opens elsewhere, for checked https addresses; anything else is its text alone. */
function link(address, text = address) {
  let url = null;
  try { url = new URL(String(address)); } catch { /* not a URL */ }
  if (url === null || url.protocol !== "https:" || url.username || url.password) return h("span", null, text);
  const node = h("a", { class: "loom-link" }, text);
  node.href = url.href;
  node.target = "_blank";
  node.rel = "noopener noreferrer";
  return node;
}

/** An image from its bytes in base64, drawn as pixels: no address is loaded. */
function picture(data, title) {
  const node = h("canvas", { role: "img", "aria-label": title, class: "loom-picture" });
  createImageBitmap(new Blob([Uint8Array.from(atob(data), (c) => c.charCodeAt())])).then((it) => {
    node.width = it.width;
    node.height = it.height;
    node.getContext("2d").drawImage(it, 0, 0);
  }, () => node.remove());
  return node;
}

// ---- untrusted text ----

const COLOURS = /\u001b\[[0-9;:]*m/g, CONTROLS = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f]/g;

/** Printable text: colour codes of terminals are left out, other control characters are shown as their signs (␀, ␛). */
function calm(text) {
  return String(text ?? "").replace(COLOURS, "")
    .replace(CONTROLS, (sign) => String.fromCharCode(sign === "\x7f" ? 0x2421 : 0x2400 + sign.charCodeAt(0)));
}
/** One line of an untrusted text, cut. */
function short(text, longest = 80) {
  const line = String(text ?? "").replace(/[\s\p{Cc}]+/gu, " ");
  return line.length > longest ? `${line.slice(0, longest - 1)}…` : line;
}

// ---- messages to and from the kernel ----

const ANSWER_S = 5;
const CALLS = new WeakMap();

/** Calls `f` for each message of that kind; returns a function that stops this. */
function onMessage(model, kind, f) {
  const receive = (message) => { if (message && message.is === kind) f(message); };
  model.on("msg:custom", receive);
  return () => model.off("msg:custom", receive);
}

/** Calls `f` now and whenever one of these traits changes; returns a function that stops this. */
function onState(model, names, f) {
  const list = [names].flat();
  for (const name of list) model.on(`change:${name}`, f);
  f();
  return () => { for (const name of list) model.off(`change:${name}`, f); };
}

/**
 * The calls that this view waits for. `silent` are functions that receive "busy" (the kernel runs something else), "lost"
 * (it was restarted or has ended) or "" (it responds); `failed` are called when an action of this view has failed.
 */
function callsOf(model) {
  let calls = CALLS.get(model);
  if (calls) return calls;
  calls = { waiting: new Map(), silent: new Set(), failed: new Set(), isLost: false, say: (word) => { for (const tell of calls.silent) tell(word); } };
  CALLS.set(model, calls);
  model.on("msg:custom", (message) => {
    const call = message && calls.waiting.get(message.id);
    if (!call) return;
    call.received();
    if (message.is === "received") return;
    calls.waiting.delete(message.id);
    if (message.is === "failed") for (const tell of calls.failed) tell();
    call.resolve(message.is === "done" ? message.value ?? {} : null);
  });
  const lose = calls.lose = () => {
    clearInterval(watch);
    calls.isLost = true;
    calls.say("lost");
    for (const call of calls.waiting.values()) { call.received("lost"); call.resolve(null); }
    calls.waiting.clear();
  };
  // No message reports that a kernel was shut down during a call, so it is polled if the host exposes its kernel.
  const watch = setInterval(() => {
    const host = model.widget_manager ?? {};
    if (calls.waiting.size && "kernel" in host && host.kernel?.isDisposed !== false) lose();
  }, 1000);
  model.on("comm_live_update", lose);
  return calls;
}

/**
 * Calls the panel's `@action` of that name with the form's content. Resolves with its result, or with null when it failed
 * (the error pane shows the reason) or the kernel is lost. When the kernel does not acknowledge the message, the panel
 * shows that.
 */
function act(model, name, form = {}) {
  const calls = callsOf(model);
  const id = newId("call");
  return new Promise((resolve) => {
    if (calls.isLost) { calls.say("lost"); return void resolve(null); }
    // A busy kernel runs something else, and responds later.
    const timer = setTimeout(() => calls.say(model.widget_manager?.kernel?.status === "busy" ? "busy" : "lost"), ANSWER_S * 1000);
    calls.waiting.set(id, { resolve, received: (word = "") => { clearTimeout(timer); calls.say(word); } });
    try { model.send({ do: name, with: form, id }); } catch { calls.lose(); }
  });
}

/** Stops the actions of a lane, or of all lanes. */
function stop(model, lane = null) { return act(model, "stop", { lane }); }

/**
 * A script that a view loads on demand (`lazy` of the panel's class): a module whose default export is called with the
 * functions of the kit and `given`. Returns an async function that loads the script once and returns the result of the
 * export, or null after a failure; the next call tries again. `onLoad` is called with the result; `.isAsked()` is true
 * once loading has begun.
 */
function lazyPart(model, name, given = [], onLoad = () => {}) {
  const kit = {
    act, block, button, calm, card, checkbox, confirmButton, facts, field, folded, formatMs, formatNumber, formatTime, h, link, newId, picture, plainTable,
    put, refill, row, select, short, statusDot, stop, table, tabs, textarea,
  };
  const load = async () => {
    const reply = await act(model, "script", { name });
    if (!reply?.script) return null;
    const address = URL.createObjectURL(new Blob([reply.script], { type: "text/javascript" }));
    try { return (await import(address)).default(kit, ...given); } finally { URL.revokeObjectURL(address); }
  };
  let loading = null;
  const part = () => (loading ??= load().then((made) => {
    if (made) onLoad(made); else loading = null;
    return made;
  }));
  part.isAsked = () => loading !== null;
  return part;
}

const PALETTE = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"];

/** A drawing as wide as its container: `draw(width)` creates the SVG, again for each new width, so that texts keep their size. */
function fitted(draw) {
  let width = 640;
  const node = h("div", null, draw(width));
  new ResizeObserver(() => {
    const now = Math.max(320, Math.round(node.clientWidth));
    if (!node.isConnected || Math.abs(now - width) < 8) return;
    width = now;
    node.replaceChildren(draw(width));
  }).observe(node);
  return node;
}
