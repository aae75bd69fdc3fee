// Parts of a conversation beside text: approvals, AG-UI runs with their state and questions, frames of tools' views.
// Loaded when a conversation first has one of these.

export default (kit, model, { withToken }) => {
  const { act, button, calm, card, facts, field, formatTime, h, newId, put, refill, short, table, textarea } = kit;

  /** A value as a tree, labelled `name`; children are drawn when their parent is opened. */
  function tree(value, name, level = 0) {
    const label = h("span", { class: "loom-hint" }, `${short(name, 80)}: `);
    if (value === null || typeof value !== "object") {
      return h("div", { style: { "padding-left": "1.1em", "white-space": "pre-wrap" } }, label, typeof value === "string" ? `"${calm(value)}"` : String(value));
    }
    const entries = Object.entries(value);
    const what = Array.isArray(value) ? `list of ${entries.length}` : `${entries.length} ${entries.length === 1 ? "field" : "fields"}`;
    const node = h("details", { style: { "padding-left": level ? "1.1em" : 0 } }, h("summary", null, label, what));
    const grow = () => { if (node.open && node.childElementCount === 1) put(node, entries.map(([key, item]) => tree(item, key, level + 1))); };
    node.addEventListener("toggle", grow);
    node.open = level < 3 && entries.length <= 50;
    grow();
    return node;
  }

  /** The time left until `at` (milliseconds since the epoch, by the page's clock), as text. */
  function timeLeft(at) {
    const s = (at - Date.now()) / 1000;
    if (s <= 0) return "expired";
    if (s < 100) return `expires in ${Math.ceil(s)}\u00a0s`;
    return s < 6000 ? `expires in ${Math.round(s / 60)}\u00a0min` : s < 172800 ? `expires in ${Math.round(s / 3600)}\u00a0h` : `expires in ${Math.round(s / 86400)} days`;
  }

  /** A text with the time left, updated every second; `onEnd` is called at zero. `.end()` stops the updates. */
  function countdown(at, onEnd) {
    const node = h("span", { class: "loom-hint" });
    const tick = () => {
      node.textContent = timeLeft(at);
      if (at <= Date.now()) { node.end(); onEnd(); }
    };
    const timer = setInterval(() => (node.isConnected ? tick() : node.end()), 1000);
    node.end = () => clearInterval(timer);
    node.textContent = timeLeft(at);
    if (at <= Date.now()) queueMicrotask(tick);
    return node;
  }

  /** The approvals of the chosen agent: `.show(approvals)`. */
  function approvalsBox() {
    const node = h("section", { "aria-label": "approvals", hidden: true });
    const notes = new Map();  // the fields by approval: a typed note stays when the boxes are drawn again
    const one = (approval) => {
      const note = notes.get(approval.id) ?? field("Note", { placeholder: "stored with the decision", class: "loom-note" });
      notes.set(approval.id, note);
      const decide = async (approve) => {
        for (const button of buttons) button.disabled = true;
        box.state("deciding …");
        if (await act(model, "decide", { ...withToken(), approval: approval.id, approve, note: note.value }) === null) act(model, "approvals");
      };
      const buttons = [
        button("Approve", () => decide(true), { kind: "main", "aria-label": `Approve ${short(approval.tool, 60)}` }),
        button("Reject", () => decide(false), { kind: "danger", "aria-label": `Reject ${short(approval.tool, 60)}` }),
      ];
      const left = countdown(Date.now() + approval.left_s * 1000, () => {
        for (const button of buttons) button.disabled = true;
        box.state("expired", "bad");
        setTimeout(() => act(model, "approvals"), 1000);
      });
      const box = card(`May ${short(approval.tool, 60)} run?`, { state: "waiting for you", level: 5 },
        facts(approval.input.map(([name, value]) => [short(name), calm(value)])),
        h("p", { class: "loom-hint" }, `Asked ${formatTime(approval.asked_at)} for ${short(approval.actor)}, session ${approval.session.slice(0, 13)}… · `, left),
        h("div", { class: "loom-row" }, h("div", { class: "loom-wide" }, note), buttons));
      box.dataset.approval = approval.id;
      return box;
    };
    node.show = (approvals) => {
      const pending = approvals.pending ?? [], decided = approvals.decided ?? [];
      const typing = [...notes.values()].find((note) => note.control === document.activeElement);
      node.hidden = !(pending.length || decided.length || approvals.problem);
      refill(node, approvals.problem && h("p", { class: "loom-hint" }, approvals.problem), pending.map(one),
        decided.length > 0 && h("details", null, h("summary", null, `Decided earlier (${decided.length})`), table({
          key: "id", label: "decided approvals", rows: decided, height: 150,
          columns: [
            { key: "tool", name: "tool" }, { key: "state", name: "state", kind: "status", width: "8em" }, { key: "asked_at", name: "asked", kind: "time", width: "12em" },
            { key: "decided_at", name: "decided", kind: "time", width: "12em" }, { key: "note", name: "note" }, { key: "result", name: "result" },
          ],
        })));
      if (typing?.isConnected) typing.control.focus({ preventScroll: true });
      for (const item of node.querySelectorAll("details")) item.addEventListener("toggle", () => item.querySelector(".loom-scroll")?.dispatchEvent(new CustomEvent("loom-shown")));
    };
    return node;
  }

  /** An AG-UI run under its turn: questions, the shared state, the typed events. `answer(question, form)` answers one. */
  function runView(answer) {
    const asking = h("div"), state = h("div"), problems = h("div"), events = h("details", { class: "loom-events" }, h("summary"));
    const node = h("div", { class: "loom-run", hidden: true }, asking, state, problems, events);
    let listed = 0, count = 0, drawn = "", last = null, open = true, asked = "";
    const head = () => { events.firstChild.textContent = `AG-UI events (${count})`; };
    node.event = (item) => {
      node.hidden = false;
      count += item.count ?? 1;
      head();
      if (item.again && last) { last.times += 1; last.lastChild.textContent = ` × ${last.times}`; return; }
      if ((listed += 1) > 500) return;
      last = h("div", null, h("code", null, item.type), " ", item.problem && h("strong", null, `malformed: ${item.problem} `),
        h("span", { class: "loom-hint", title: short(calm(item.data ?? ""), 2000) }, short(calm(item.data ?? ""), 160)), h("span", null, item.count > 1 ? ` × ${item.count}` : ""));
      last.times = item.count ?? 1;
      events.append(last);
    };
    const question = (item) => {
      const buttons = [];
      const send = async (form) => {
        for (const other of asking.children) other.close("answering …");
        if (await answer(item.id, form) !== null || !open) return;
        for (const other of asking.children) other.open();  // refused: the run waits for a correct answer
      };
      const own = item.yes_or_no ? null : textarea("Answer as JSON", { rows: 2, hint: item.wanted ? `expected: ${short(item.wanted, 300)}` : "" });
      if (own) buttons.push(button("Send", () => send({ payload: own.value }), { kind: "main" }));
      else buttons.push(button("Approve", () => send({ approved: true }), { kind: "main" }), button("Reject", () => send({ approved: false }), { kind: "danger" }));
      buttons.push(button("Leave unanswered", () => send({}), { class: "loom-quiet" }));
      const at = item.expires_at ? Date.parse(item.expires_at) : NaN;
      const box = card(short(item.message || item.reason, 400), { state: "waiting for you", level: 5 },
        h("p", { class: "loom-hint" }, item.reason, Number.isNaN(at) ? null : [" · ", countdown(at, () => box.close("expired"))]), own, h("div", { class: "loom-row" }, buttons));
      const mark = (word, isOpen) => { box.state(word); for (const item of buttons) item.disabled = !isOpen; };
      box.close = (word) => mark(word, false);
      box.open = () => (at <= Date.now() ? mark("expired", false) : mark("waiting for you", true));
      box.classList.add("loom-question");
      return box;
    };
    node.update = (run) => {
      node.hidden = false;
      if (run.state !== drawn) {
        drawn = run.state;
        refill(state, run.state && h("div", { class: "loom-box", role: "group", "aria-label": "shared state" }, tree(JSON.parse(run.state), "shared state")));
      }
      refill(problems, run.error && h("p", null, h("strong", null, "Run failed: "), run.error), run.problems.slice(0, 20).map((item) => h("p", { class: "loom-hint" }, `Breaks the protocol: ${item}`)),
        run.steps.length > 0 && h("p", { class: "loom-hint" }, `Steps: ${run.steps.join(" → ")}`),
        run.beside.map((item) => h("p", { class: "loom-hint" }, short(calm(item), 2000))),
        run.thoughts && h("details", null, h("summary", null, "Thoughts"), h("pre", { tabindex: 0 }, calm(run.thoughts))));
      const now = JSON.stringify(run.confirmations);
      if (now !== asked) { asked = now; refill(asking, run.confirmations.map(question)); if (!open) node.close("closed"); }
    };
    /** Close the questions: they can no longer be answered, because another question was asked since. */
    node.close = (word = "closed") => { open = false; for (const item of asking.children) item.close(word); };
    head();
    return node;
  }

  const FRAME = { inSecond: 200, characters: 200000, waiting: 8, height: 600 };

  /**
   * A tool's view in its frame. The frame cannot reach anything (policy of its document, separate origin). Its messages go
   * only to the panel's channel, within limits. `keep(off)` collects functions that close it.
   */
  function viewFrame(turn, item, keep) {
    const said = h("p", { class: "loom-hint" }), callable = item.may ? `It can only call ${item.may}.` : "It cannot call any tool.";
    const place = h("div", { style: { "min-height": "220px" } });
    let id = "", frame = null, waiting = 0, second = 0, inSecond = 0, height = 0;
    const close = (why) => {
      if (!frame) return;
      window.removeEventListener("message", receive, true);
      frame.remove();
      frame = null;
      hide.hidden = true;
      act(model, "frame_gone", { frame: id });
      if (why) { said.textContent = why; place.style.minHeight = ""; refill(place, button("Show it again", open)); }
    };
    const refuse = (text, message) => {
      let asked = null;
      try { asked = JSON.parse(text)?.id; } catch { /* not JSON: nothing waits for a response */ }
      if (frame && (typeof asked === "string" || typeof asked === "number")) frame.contentWindow.postMessage({ jsonrpc: "2.0", id: asked, error: { code: -32000, message } }, "*");
    };
    /** Whether a window is the frame's or nested in it. Nested windows can reach this page through `top`. */
    const isWithin = (from) => {
      for (let depth = 0; from && depth < 5 && from !== from.parent; depth += 1) if ((from = from.parent) === frame.contentWindow) return true;
      return false;
    };
    const receive = async (event) => {
      const isPast = frame && isWithin(event.source);
      if (!frame || (event.source !== frame.contentWindow && !isPast)) return;
      event.stopImmediatePropagation();  // later listeners must not receive messages of an untrusted page
      if (isPast) return void close("Closed: the view posted a message to the page outside its channel.");
      if (event.data?.closed) return void close(`Closed: ${short(String(event.data.closed), 200)}.`);
      const now = Math.floor(performance.now() / 1000);
      if (now !== second) { second = now; inSecond = 0; }
      if ((inSecond += 1) > FRAME.inSecond) return void close(`Closed: the view sent more than ${FRAME.inSecond} messages in a second.`);
      const text = event.data;  // JSON text, as the frame's own document forwards it, up to this length
      if (typeof text !== "string" || text.length > FRAME.characters) return;
      if (waiting >= FRAME.waiting) return void refuse(text, "Too many messages are waiting for an answer");
      const mine = id;
      waiting += 1;
      const reply = await act(model, "frame_message", { frame: mine, message: text });
      waiting -= 1;
      if (!frame || !reply || mine !== id) return;
      if (reply.closed) return void close("Closed: the panel no longer serves this frame.");
      for (const text of reply.answers ?? []) frame.contentWindow.postMessage(JSON.parse(text), "*");
      if (reply.height && reply.height !== height) { height = reply.height; frame.style.height = `${Math.min(Math.max(height, 220), FRAME.height)}px`; }
      refill(said, callable, reply.refused?.length > 0 && ` Refused: ${reply.refused.join(", ")}.`);
    };
    const open = async () => {
      id = newId("view");
      const dark = document.body.dataset.jpThemeLight === "false";
      const reply = await act(model, "frame", { turn, view: item.view, frame: id, theme: dark ? "dark" : "light" });
      if (!reply?.document || reply.sandbox !== "allow-scripts" || !node.isConnected) return;
      frame = document.createElement("iframe");
      frame.setAttribute("sandbox", "allow-scripts");
      frame.setAttribute("referrerpolicy", "no-referrer");
      frame.setAttribute("allow", "");
      frame.setAttribute("title", short(item.title || `View of ${item.tool}`, 200));
      Object.assign(frame.style, { width: "100%", height: "220px", border: "0", display: "block", background: dark ? "#111" : "#fff", colorScheme: dark ? "dark" : "light" });
      frame.srcdoc = reply.document;
      window.addEventListener("message", receive, true);
      hide.hidden = false;
      refill(said, callable);
      refill(place, frame);
    };
    const hide = button("Close view", () => close("Closed."), { class: "loom-quiet", hidden: true });
    const node = card(short(item.title || `View of ${item.tool}`, 120), { level: 5 }, item.problem ? h("p", null, item.problem) : [place, said, hide]);
    node.classList.add("loom-view");
    keep(() => close(""));
    if (!item.problem) requestAnimationFrame(open);
    return node;
  }

  return { approvals: approvalsBox(), runView, viewFrame };
};
