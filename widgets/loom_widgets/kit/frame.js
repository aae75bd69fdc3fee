// The frame of a panel: what stands around every panel's own page, and where the keyboard's place is kept.

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
