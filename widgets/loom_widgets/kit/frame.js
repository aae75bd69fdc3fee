// The frame around the page of every panel; it also keeps the keyboard focus in place.

/**
 * Keep the place of keyboard users. When the focused control is disabled, the focus waits beside it and returns when it is
 * enabled. When it is removed or hidden, the focus moves to the control with the same text that replaced it, else to the
 * table or tab before it. Returns a function that stops this.
 */
function keepFocus(root) {
  let held = null, home = null, parked = null;
  const usable = (node) => node.isConnected && !node.disabled && (node.checkVisibility?.() ?? true);
  const near = (records) => {
    let place = held.isConnected ? held : records.find((record) => [...record.removedNodes].some((node) => node.contains(held)))?.target;
    if (!place || !root.contains(place)) place = root;
    if (held.isConnected && held.disabled && usable(held.parentElement)) { home ??= held; return held.parentElement; }
    const twins = held.isConnected || !held.textContent ? [] : [...place.querySelectorAll(held.tagName)];
    const before = [...root.querySelectorAll("[role=grid],[role=tab][aria-selected=true]")].filter((node) => usable(node)
      && place.compareDocumentPosition(node) & Node.DOCUMENT_POSITION_PRECEDING);
    const next = twins.find((node) => node.textContent === held.textContent && usable(node)) ?? before.at(-1);
    while (!next && place !== root && !(usable(place) && place.offsetHeight)) place = place.parentElement;
    return next ?? place;
  };
  const look = (records) => {
    const now = document.activeElement;
    if (!held || (now && now !== document.body && now !== held)) return;
    if (home && now === held && usable(home)) return void home.focus({ preventScroll: true });
    const aside = held.isConnected && !held.disabled && !records.some((record) => record.type === "attributes" && record.target.contains(held));
    if (aside || usable(held)) return;
    const place = near(records);
    if (place.tabIndex < 0 && !place.hasAttribute("tabindex")) { parked = place; place.tabIndex = -1; }
    place.focus({ preventScroll: true });
  };
  root.addEventListener("focusin", (event) => { held = event.target; if (held !== parked) home = null; });
  root.addEventListener("focusout", (event) => {
    const gone = event.target;
    if (gone === parked) { gone.removeAttribute("tabindex"); parked = null; }
    // The observer runs first, so a removed element is known from one that merely lost the focus.
    setTimeout(() => { if (held === gone && usable(gone) && document.activeElement !== gone) held = home = null; });
  });
  const seen = new MutationObserver(look);
  seen.observe(root, { subtree: true, childList: true, attributes: true, attributeFilter: ["disabled", "hidden", "open"] });
  return () => seen.disconnect();
}

/**
 * Scroll the focused control back into view when the panel grew and pushed it out, for example when an answer arrives above
 * it. Does nothing while the user scrolls. Returns a function that stops this.
 */
function keepInSight(root) {
  const SCROLLS_MS = 1000, SAME_FRAME_MS = 100;
  let held = null, inSight = false, resizedAt = -SCROLLS_MS, scrolledAt = -SCROLLS_MS;
  const scrolls = () => { scrolledAt = performance.now(); };
  // A frame measures sizes, then visibility. It reports the visibility later, with the time of the measurement.
  const sizes = new ResizeObserver(() => { resizedAt = performance.now(); });
  const sight = new IntersectionObserver((entries) => {
    const { isIntersecting, time } = entries.at(-1), was = inSight;
    inSight = isIntersecting;
    const pushed = was && !inSight && Math.abs(time - resizedAt) < SAME_FRAME_MS && time - scrolledAt > SCROLLS_MS;
    if (pushed && document.activeElement === held) held.scrollIntoView({ block: "nearest" });
  });
  root.addEventListener("focusin", (event) => {
    sight.disconnect();
    held = event.target;
    inSight = held.matches(":focus-visible");
    sight.observe(held);
  });
  sizes.observe(root);
  for (const kind of ["wheel", "touchmove", "pointerdown"]) document.addEventListener(kind, scrolls, { passive: true, capture: true });
  return () => {
    sizes.disconnect();
    sight.disconnect();
    for (const kind of ["wheel", "touchmove", "pointerdown"]) document.removeEventListener(kind, scrolls, { capture: true });
  };
}

const SILENT = {
  busy: `The kernel has not answered for ${ANSWER_S}\u00a0s. It may be busy with a cell; your request runs after that.`,
  lost: "The kernel does not respond. It was restarted or has ended, and the panel's data in it is lost. ",
  again: "Run the panel's cell again.",
};
const VIEW = "application/vnd.jupyter.widget-view+json", AGAIN_S = 2, SCROLLED_PAST_MS = 500;

/** Opens the same panel in the running kernel with the code of the panel's trait `reopen`; resolves with its view. */
async function reopened(model) {
  const manager = model.widget_manager, session = manager?.context?.sessionContext;
  if (session && !session.session?.kernel) await session.restartKernel();
  const kernel = manager?.kernel;
  if (!kernel || kernel.isDisposed) throw new Error("no kernel is running. Start one, or close this page and open the panel again");
  // JupyterLab sends comms to a subshell, which ended with a restart that it did not notice. So use none, then a new one.
  const shells = kernel.commsOverSubshells;
  if (shells) kernel.commsOverSubshells = "disabled";
  const future = kernel.requestExecute({ code: model.get("reopen"), store_history: false, stop_on_error: false });
  let id = null, problem = "the kernel did not create a panel";
  future.onIOPub = ({ header, content }) => {
    if (header.msg_type === "error") problem = String(content.evalue || content.ename);
    id ??= content.data?.[VIEW]?.model_id ?? null;
  };
  await future.done;
  if (shells) kernel.commsOverSubshells = shells;
  if (!id) throw new Error(problem);
  return manager.create_view(await manager.get_model(id));
}

/** Shows that the kernel does not respond: `.say("busy" | "lost" | "")`. A lost panel can be reopened in its place. */
function lostPane(model, root, saved) {
  const node = h("div", { class: "loom-lost", role: "alert", hidden: true });
  const problem = h("p", { class: "loom-hint", hidden: true });
  const again = button("Reconnect", async () => {
    again.disabled = true;
    again.textContent = "Reconnecting …";
    try {
      const view = await reopened(model);
      const kept = saved();
      root.replaceWith(view.el);
      view.el.querySelector(".loom-panel")?.restore?.(kept);
    } catch (failure) {
      problem.hidden = false;
      problem.textContent = `The panel could not be restored: ${short(calm(failure?.message ?? failure), 300)}.`;
      again.disabled = false;
      again.textContent = "Reconnect";
    }
  }, { kind: "main" });
  node.say = (word) => {
    node.hidden = !word;
    const canReopen = Boolean(model.get("reopen") && model.widget_manager);
    refill(node, h("p", null, SILENT[word] ?? "", word === "lost" && !canReopen && SILENT.again), word === "lost" && canReopen && again, problem);
  };
  return node;
}

/**
 * Asks the kernel to reload what may have changed elsewhere (the action `look_again`) when the panel becomes visible and
 * stays so, when it receives the focus, and when its window does. Returns a function that stops this.
 */
function lookAgain(model, root) {
  let last = performance.now(), timer = 0;
  const ask = () => {
    const now = performance.now();
    if (now - last < AGAIN_S * 1000 || !(root.checkVisibility?.() ?? true)) return;
    last = now;
    // Nothing waits for the response, so a busy kernel is not reported.
    try { model.send({ do: "look_again", with: {} }); } catch { /* the kernel is gone */ }
  };
  // A panel that is only scrolled past, for example to a new cell, leaves the kernel to what the user scrolls to.
  const seen = new IntersectionObserver((entries) => {
    clearTimeout(timer);
    if (entries.at(-1).isIntersecting) timer = setTimeout(ask, SCROLLED_PAST_MS);
  });
  seen.observe(root);
  root.addEventListener("focusin", (event) => { if (!root.contains(event.relatedTarget)) ask(); });
  window.addEventListener("focus", ask);
  return () => { clearTimeout(timer); seen.disconnect(); window.removeEventListener("focus", ask); };
}

/**
 * A panel's view: title, status line, error pane and code drawer around the content that `build(body, model)` creates. `build`
 * may return a function that is called when the view closes; `body.keep(off)` collects such functions as well. Errors of
 * some actions are shown elsewhere with `body.errorsOf(names, node)`. `body.save` and `body.restore` carry the typed texts
 * into a panel that is reopened. `isStatic`: none of its content changes elsewhere.
 *
 *     export default { render: (view) => panel(view, (body, model) => { … }) };
 */
function panel({ model, el }, build, { isStatic = false } = {}) {
  const offs = [];
  const root = h("section", { class: "loom-panel" });
  const heading = h("h3");
  const status = live();
  const body = h("div", { class: "loom-body" });
  const lost = lostPane(model, root, () => body.save?.() ?? {});
  const dismiss = () => act(model, "dismiss");
  const error = errorPane(dismiss);
  const panes = [error], places = new Map();
  const code = codeDrawer();
  body.keep = (off) => { offs.push(off); return off; };
  body.errorsOf = (names, node) => {
    const pane = errorPane(dismiss);
    panes.push(pane);
    for (const name of names) places.set(name, pane);
    node.append(pane);
  };
  root.restore = (kept) => body.restore?.(kept);
  // JupyterLab handles keys itself: arrows and Enter inside a panel belong to the panel.
  root.addEventListener("keydown", (event) => {
    if (event.target.matches("input,textarea,select,button,summary,[role=grid],[role=tab]") && event.key !== "Escape") event.stopPropagation();
  });
  root.setAttribute("data-lm-suppress-shortcuts", "true");
  put(root, [h("header", { class: "loom-head" }, heading, status), lost, error, body, code]);
  el.append(root);
  offs.push(keepFocus(root), keepInSight(root));
  const calls = callsOf(model);
  const failed = () => { if (root.contains(document.activeElement)) panes.find((pane) => !pane.hidden)?.scrollIntoView?.({ block: "nearest" }); };
  calls.silent.add(lost.say);
  calls.failed.add(failed);
  offs.push(() => { calls.silent.delete(lost.say); calls.failed.delete(failed); });
  if (!isStatic) offs.push(lookAgain(model, root));
  offs.push(onState(model, "title", () => { heading.textContent = model.get("title"); root.setAttribute("aria-label", model.get("title")); }));
  offs.push(onState(model, "status", () => status.say(model.get("status"))));
  const showError = () => {
    const shown = model.get("error"), place = places.get(shown?.action) ?? error;
    for (const pane of panes) pane.show(pane === place ? shown : null);
  };
  offs.push(onState(model, "code", () => code.show(model.get("code"))));
  offs.push(onState(model, "busy", () => root.setAttribute("aria-busy", String(Boolean(model.get("busy"))))));
  try {
    const off = build(body, model);
    if (typeof off === "function") offs.push(off);
    offs.push(onState(model, "error", showError));
  } catch (failure) {
    error.show({ what: "The panel could not be drawn.", on: String(failure?.message ?? failure), try: "Reload the page." });
  }
  return () => { for (const off of offs.splice(0)) off(); root.remove(); };
}
