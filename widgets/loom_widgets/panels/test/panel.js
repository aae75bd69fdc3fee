// Test: the conversation, and below it the figures, waterfall, logs and sessions of its questions.

/** The parts of an answer beside its text, by the kind of note (loomlib.agents.notes): f(turn's view, item). */
const RENDERERS = {
  tool: (view, item) => view.tool(item),
  agui: (view, item) => view.run((run) => run.event(item)),
  run: (view, item) => view.ran(item),
  view: (view, item) => view.frame(item),
  progress: (view, item) => view.progress(item),
  message: (view, item) => view.message(item),
  event: (view, item) => view.event(item),
};
const BLOCK = 4000, LONGEST_LINE = 16000, FOLDED = 20000;
const TORN = /\u001b(?:\[[0-9;:]*)?$/;

/** A growing text: complete blocks are not redrawn, so that adding to a long answer stays cheap. */
function growing() {
  const node = h("div", { class: "loom-answer", style: { "white-space": "pre-wrap" } });
  let last = null, torn = "";
  node.length = 0;
  node.add = (piece) => {
    // A colour code may be split between two chunks.
    piece = torn + piece;
    torn = TORN.exec(piece)?.[0] ?? "";
    let text = calm(torn ? piece.slice(0, -torn.length) : piece);
    node.length += text.length;
    while (text) {
      if (!last || last.data.length > LONGEST_LINE) {
        last = document.createTextNode("");
        node.append(h("div", { style: { "content-visibility": "auto", "contain-intrinsic-height": "auto 20px", "unicode-bidi": "plaintext" } }, last));
      }
      const line = last.data.length > BLOCK ? text.indexOf("\n") : -1;
      const cut = line < 0 ? LONGEST_LINE : Math.min(line, LONGEST_LINE);
      last.appendData(text.slice(0, cut));
      text = text.slice(cut === line ? cut + 1 : cut);
      if (cut === line) last = null;
    }
  };
  return node;
}

/** How the call of a turn was authorized: `.button` reads and shows it in `.node`, or hides it again. */
function authorizationOf(model, turn) {
  const node = h("div"), read = button("How was it authorized?", async () => {
    if (node.childElementCount) return void node.replaceChildren();
    read.disabled = true;
    const reply = await act(model, "authorization", { turn });
    read.disabled = false;
    if (reply?.facts) refill(node, card("Authorization", { level: 5 }, h("p", null, calm(reply.sentence)), facts(reply.facts.map(([name, value]) => [name, calm(value)])), reply.tables.map(([title, rows]) => [h("p", null, h("strong", null, title)), plainTable(title, rows)])));
    node.scrollIntoView?.({ block: "nearest" });
  }, { class: "loom-quiet", hidden: true });
  return { node, button: read };
}

function turnView(turn, { open: onOpen, keep: onKeep, answer, model, chatPart, down, keepFrame }) {
  const text = growing();
  const tools = h("div", { class: "loom-tools" });
  const events = h("details", { class: "loom-events", hidden: true }, h("summary", null, "other events"));
  const progress = h("div", { hidden: true }), messages = h("div");
  const foot = h("p", { class: "loom-hint" });
  const session = h("code", { class: "loom-session" });
  const runs = h("div"), frames = h("div");
  const fold = button("Show all", () => folded(!isFolded), { class: "loom-quiet", hidden: true });
  const details = button("Show details", () => onOpen(turn.turn), { class: "loom-quiet", hidden: true });
  const keep = button("Capture as case", async () => { const reply = await onKeep(turn.turn); if (reply) kept.textContent = ` ${reply.sentence}`; }, { class: "loom-quiet", hidden: true });
  const kept = h("span", { class: "loom-hint" }), authorization = authorizationOf(model, turn.turn);
  const node = h("article", { class: "loom-turn", "aria-label": `question ${turn.turn}` },
    h("p", { class: "loom-asked", style: { "white-space": "pre-wrap" } }, h("strong", null, `${turn.who ?? "You"}: `), calm(turn.prompt)),
    tools, progress, messages, text, fold, runs, frames, events, foot, details, " ", keep, kept, " ", authorization.button, authorization.node);
  const cards = new Map();
  const view = { node };
  let run = null, isClosed = false, seen = 0, isFolded = false, hasBegun = false, timer = 0;
  const elapsed = h("span", { class: "loom-elapsed" }), word = h("span");
  const arriving = (yes) => { hasBegun = yes; refill(word, turn.socket ? statusDot("open") : yes ? statusDot("streaming") : statusDot("waiting for the first byte")); };
  /** While the answer arrives: whether its first byte has been received, and the time elapsed so far. */
  const asking = (now) => {
    clearInterval(timer);
    if (now.status !== "streaming") return;
    const start = performance.now() - (now.elapsed_ms ?? 0);
    const tick = () => { elapsed.textContent = formatMs(Math.floor((performance.now() - start) / 1000) * 1000); };
    timer = setInterval(() => (node.isConnected ? tick() : clearInterval(timer)), 1000);
    arriving(hasBegun || Boolean(now.text));
    tick();
    refill(foot, word, " · ", elapsed, " · session ", session);
  };
  const folded = (yes) => {
    isFolded = yes;
    for (const [name, value] of Object.entries(yes ? { "max-height": "18em", overflow: "auto" } : { "max-height": "none", overflow: "visible" })) text.style.setProperty(name, value);
    if (yes) text.tabIndex = 0; else text.removeAttribute("tabindex");
    fold.hidden = text.length <= FOLDED;
    fold.textContent = yes ? `Show all ${formatNumber(text.length)} characters` : "Collapse";
  };
  /** Call `use` with the view of the AG-UI run; calls are made in order. */
  view.run = async (use) => {
    const part = await chatPart();
    if (!part) return;
    down(() => {
      if (!run) {
        runs.append(run = part.runView((question, form) => answer(turn.turn, question, form)));
        if (isClosed) run.close();
      }
      use(run);
    });
  };
  /** Disable the questions of the run. */
  view.close = () => { isClosed = true; run?.close(); };
  view.ran = (item) => { if (!item.kind) return; view.run((run) => run.update(item)); item.tools.forEach(view.tool); };
  view.frame = async (item) => { const part = await chatPart(); if (part) down(() => frames.append(part.viewFrame(turn.turn, item, keepFrame))); };
  view.finishTools = (state = "done") => { for (const item of cards.values()) if (item.open) { item.open = false; item.card.state(state); } };
  view.tool = (item) => {
    const key = item.id || `${item.name} ${cards.size}`;
    let entry = cards.get(key);
    if (!entry) {
      entry = { card: card(short(item.name, 60), { state: "running", level: 5 }), open: true };
      entry.card.classList.add("loom-toolcard");
      cards.set(key, entry);
      tools.append(entry.card);
    }
    const state = item.state ?? "running";
    entry.open = state === "running";
    entry.card.state(state);
    refill(entry.card.body,
      Number.isFinite(item.duration_ms) && h("p", null, `took ${formatMs(item.duration_ms)}`),
      item.files?.[0] && h("ul", { "aria-label": "files" }, item.files.map((file) => h("li", null, `${file.action} ${calm(file.path)}`))),
      (item.pictures ?? []).map((each) => picture(each.data, calm(each.title))),
      item.arguments && h("pre", { "aria-label": "arguments", tabindex: 0 }, calm(item.arguments)),
      item.result && h("details", null, h("summary", null, "Result"), h("pre", { tabindex: 0 }, calm(item.result))));
  };
  /** A call's progress as its server reports it; the bar disappears when the call ends. */
  view.progress = (item) => {
    progress.hidden = false;
    const share = Number.isFinite(item.share) ? Math.min(Math.max(item.share, 0), 1) : null;
    refill(progress, share !== null && h("progress", { max: 1, value: share, "aria-label": "progress of the call", style: { width: "12em", height: "10px" } }), h("span", { class: "loom-hint" }, ` ${short(calm(item.text), 300)}`));
    if (!item.unlisted) view.event(item);
  };
  /** A message of a WebSocket. */
  view.message = (item) => messages.append(h("p", { style: { "white-space": "pre-wrap", "overflow-wrap": "anywhere", "unicode-bidi": "plaintext", margin: "2px 0" } },
    h("strong", null, item.sent ? "sent: " : "received: "), calm(item.text), Number.isFinite(item.after_ms) && h("span", { class: "loom-hint" }, ` · ${formatMs(item.after_ms)} after the last message sent`)));
  view.event = (item) => {
    events.hidden = false;
    seen += 1;
    events.firstChild.textContent = `other events (${seen})`;
    if (seen <= 100) events.append(h("pre", null, calm(item.data)));
  };
  view.take = (items) => {
    let added = "";
    if (!hasBegun) arriving(true);
    for (const item of items) {
      if (item.number <= turn.taken) continue;  // the message that drew this view included it
      if (item.kind === "text") added += item.text;
      else {
        if (added) { text.add(added); added = ""; }
        (RENDERERS[item.kind] ?? RENDERERS.event)(view, item.data ? item : { ...item, data: item.data ?? JSON.stringify(item) });
      }
    }
    if (added) { view.finishTools(); text.add(added); }
  };
  view.update = (now) => {
    text.classList.toggle("loom-arriving", now.status === "streaming");
    asking(now);
    if (now.run?.kind) view.ran(now.run);
    if (now.text !== undefined && !text.length) text.add(now.text);
    if (now.status !== "streaming" && text.length > FOLDED && fold.hidden) folded(true);
    if (now.status !== "streaming") progress.hidden = true;
    if (now.status !== "streaming") view.finishTools(now.status === "complete" ? "done" : "stopped");
    if (now.tools?.length) { cards.clear(); tools.replaceChildren(); now.tools.forEach(view.tool); }
    session.textContent = now.session ?? "";
    const leftOut = (turn.cut ?? 0) + (now.left_out ?? 0);
    details.hidden = keep.hidden = authorization.button.hidden = !now.invocation || now.status === "streaming";
    if (now.status !== "streaming") refill(foot,
      statusDot(now.status), " ", now.sentence, leftOut ? ` · ${formatNumber(leftOut)} more characters are in .text` : "",
      now.session && !now.sentence.includes(now.session) ? [" · session ", session] : null);
  };
  view.session = (id) => { session.textContent = id; };
  for (const note of turn.notes ?? []) (RENDERERS[note.kind] ?? RENDERERS.event)(view, note);
  view.update(turn);
  return view;
}

export default {
  render: (given) => panel(given, (body, model) => {
    const agent = select("Agent"), qualifier = select("Qualifier"), session = select("Session");
    const prompt = textarea("Prompt", { rows: 3, hint: "Press Ctrl+Enter to send." });
    const ask = button("Invoke", () => invoke(), { kind: "main" });
    const halt = button("Stop", () => { isStopped = true; stop(model, "invoke"); }, { disabled: true });
    const fresh = button("New session", () => anew());
    const labels = h("p", { class: "loom-hint" });
    const log = h("div", { class: "loom-log", role: "log", "aria-live": "off", "aria-label": "conversation", tabindex: 0, style: { "max-height": "440px", overflow: "auto" } });
    const nothing = h("p", { class: "loom-empty" });
    const blank = (text) => h("p", { class: "loom-empty" }, text);
    const isolated = { style: { display: "flow-root" } };  // margins within count for the height
    const figures = h("div", isolated, blank("Invoke the agent to see times, tokens and cost."));
    const lanes = h("div", isolated, blank("The spans of the last answer are shown here."));
    const about = h("p", { class: "loom-hint", hidden: true });
    const span = spanDetail(model);
    const line = h("pre", { hidden: true, tabindex: 0, "aria-label": "selected line" });
    const logs = table({
      model, table: "logs", key: ["timestamp", "message"], label: "log lines of this session", empty: "No log lines of this session yet.",
      onOpen: (row) => { line.hidden = false; line.textContent = row.message ?? ""; },
      columns: [
        { key: "timestamp", name: "time", kind: "time", width: "12em" }, { key: "level", name: "level", width: "6em" },
        { key: "message", name: "message" },
      ],
    });
    const history = table({
      model, table: "sessions", key: "session_id", label: "sessions of this agent", empty: "No session yet.", onOpen: (row) => choose({ agent: row.agent, session: row.session_id }),
      columns: [
        { key: "session_id", name: "session", width: "34%" }, { key: "qualifier", name: "qualifier" },
        { key: "invocations", name: "asked", kind: "number" }, { key: "failed", name: "failed", kind: "number" },
        { key: "first_call", name: "first", kind: "time", width: "12em" }, { key: "cold_start_ms", name: "cold start", kind: "ms" },
      ],
    });
    const parts = tabs([
      ["Figures", figures], ["Waterfall", lanes],
      ["Logs", h("div", null, h("div", { class: "loom-row" }, button("Read again", () => act(model, "logs"))), logs, line)],
      ["Sessions", h("div", null, h("div", { class: "loom-row" }, button("Refresh", () => act(model, "refresh")), h("span", { class: "loom-hint" }, "Open a row to see the session.")), history)],
    ], { label: "details of the answer" });
    const views = new Map();
    const frameOffs = [], offFrames = () => { for (const off of frameOffs.splice(0)) off(); };
    const token = field("Bearer token", { type: "password", autocomplete: "off", hint: "This agent accepts only bearer tokens. The token is neither stored nor shown." });
    const withToken = () => ({ ...form(), bearer: token.value });
    let tokenOf = "";
    /** Empty the token if it was entered for another agent. */
    const checkToken = () => { if (tokenOf !== agent.value) { tokenOf = agent.value; token.value = ""; } };
    const waiting = h("div");
    /** The lazy script for approvals, AG-UI runs and frames. */
    const chatPart = lazyPart(model, "chat", [model, { withToken }], (part) => refill(waiting, part.approvals));
    const showApprovals = async (reply) => {
      if (chatPart.isAsked() || reply.pending?.length || reply.decided?.length || reply.problem) (await chatPart())?.approvals.show(reply);
    };
    const agui = checkbox("Use AG-UI");
    agui.style.setProperty("align-self", "center");
    const protocols = h("div");
    /** The lazy script for MCP and A2A. */
    const speaking = lazyPart(model, "protocols", [model, { form: withToken, asking: (yes) => asking(yes) }], (part) => refill(protocols, part.node));
    const sockets = h("details", null, h("summary", null, "WebSocket")), socketPlace = h("div");
    const socketPart = lazyPart(model, "websocket", [model, { form: withToken }], (part) => refill(socketPlace, part.node));
    sockets.append(socketPlace);
    sockets.addEventListener("toggle", () => { if (sockets.open) socketPart(); });
    const showSocket = async (isOpen) => { if (isOpen) sockets.open = true; if (isOpen || socketPart.isAsked()) (await socketPart())?.show(isOpen); };
    const showProtocol = async () => {
      if (!speaking.isAsked() && !["MCP", "A2A"].includes(model.get("state").protocol)) return;
      (await speaking())?.show(model.get("state"));
    };
    const promptRow = h("div", { class: "loom-row" }, h("div", { class: "loom-wide" }, prompt)), askRow = h("div", { class: "loom-row" }, ask, halt, agui);
    let calls = 0, isStopped = false, chosen = Promise.resolve(), shownTurn;

    const form = () => ({ agent: agent.value, qualifier: qualifier.value, session: session.value });
    const choose = (some = {}) => (chosen = act(model, "choose", { ...form(), ...some }));
    const anew = () => { session.value = ""; choose(); };  // at once: the next click may come before the response
    const invoke = async () => {
      if (halt.disabled === false || !prompt.value.trim()) return void prompt.control.focus();
      const asked = prompt.value, mine = (calls += 1);
      isStopped = false;
      asking(true);
      prompt.control.focus();
      for (let last = null; last !== chosen;) { last = chosen; await last; }  // the question belongs to the conversation that was chosen last
      asking(!isStopped);
      if (isStopped) return;
      const reply = await act(model, "invoke", { ...form(), prompt: asked, agui: agui.value, ...(token.hidden ? {} : { bearer: token.value }) });
      if (!reply && !prompt.value) prompt.value = asked;
      if (mine === calls) asking(false);
    };
    const asking = (yes) => { ask.disabled = yes; halt.disabled = !yes; };
    const answer = (turn, question, given) => act(model, "answer", { ...withToken(), turn, question, ...given });
    const keepFrame = (off) => { frameOffs.push(off); };
    const openTurn = (turn) => act(model, "open_turn", { turn }), keep = (turn) => act(model, "capture", { turn });
    const down = (change) => {
      const near = log.scrollHeight - log.scrollTop - log.clientHeight < 60;
      change();
      if (near) log.scrollTop = log.scrollHeight;
    };
    const begin = (turn) => {
      for (const item of views.values()) item.close();
      const view = turnView(turn, { open: openTurn, keep, answer, model, chatPart, down, keepFrame });
      view.asked = turn.prompt;
      views.set(turn.turn, view);
      down(() => log.append(view.node));
      nothing.hidden = true;
      log.scrollTop = log.scrollHeight;
    };
    /** Keep the height of the details while an answer arrives: the page would be laid out and painted again below them. */
    const keepHeight = (yes) => { for (const node of [figures, lanes]) node.style.setProperty("min-height", yes ? `${node.offsetHeight}px` : "0"); };
    /** Figures and waterfall belong to one question, which is named above them; `wait` is shown until they are known. */
    const detailsOf = (turn, wait) => {
      const asked = views.get(turn)?.asked;
      about.hidden = asked === undefined;
      about.textContent = asked === undefined ? "" : `Figures and waterfall of question ${turn}: ${short(calm(asked), 100)}`;
      shownTurn = turn;
      refill(figures, blank(wait));
      refill(lanes, blank(wait));
      span.replaceChildren();
    };
    const chat = (reply) => {
      offFrames();
      views.clear();
      if (reply?.approvals) showApprovals(reply.approvals);
      log.replaceChildren();
      line.hidden = true;
      keepHeight(false);
      nothing.hidden = (reply?.turns ?? []).length > 0;
      for (const turn of reply?.turns ?? []) begin(turn);
      const last = reply?.turns?.at(-1);
      detailsOf(last?.turn, last ? "Press Show details at a question to read its spans." : "Invoke the agent to see times, tokens and cost.");
      if (last) { showFigures(last); asking(last.status === "streaming" && !last.socket); }
    };
    const showFigures = (turn) => {
      keepHeight(false);
      if (!turn.figures?.length) return;
      if (turn.turn !== shownTurn) detailsOf(turn.turn, "Reading the spans …");
      refill(figures, facts(turn.figures.map((item) => [item.name, [
        item.kind === "ms" ? formatMs(item.value) : item.kind === "time" ? formatTime(item.value) : item.kind === "number" ? formatNumber(item.value) : item.value ?? "–",
        item.note && h("span", { class: "loom-hint" }, ` · ${item.note}`),
      ]])));
    };

    agent.control.addEventListener("change", () => { checkToken(); anew(); });
    qualifier.control.addEventListener("change", () => choose());
    session.control.addEventListener("change", () => choose());
    prompt.control.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); invoke(); }
    });
    put(body, [
      labels, h("div", { class: "loom-row" }, agent, qualifier, session, fresh), waiting, log, nothing,
      protocols, promptRow, token, askRow, sockets, about, parts,
    ]);
    prompt.classList.add("loom-wide");

    body.keep(onState(model, "state", () => {
      const state = model.get("state");
      agent.options(state.agents ?? [], state.agent);
      checkToken();
      qualifier.options(state.qualifiers ?? [], state.qualifier);
      const known = (state.sessions ?? []).map(([id, count]) => [id, `${id.slice(0, 13)}… · asked ${count}`]);
      if (state.session && !known.some(([id]) => id === state.session)) known.unshift([state.session, `${state.session.slice(0, 13)}…`]);
      session.options([["", "a new session"], ...known], state.session ?? "");
      session.value = state.session ?? "";
      agui.value = Boolean(state.agui);
      token.hidden = !state.authorizer;
      promptRow.hidden = askRow.hidden = state.protocol === "MCP";
      agui.hidden = state.protocol === "A2A";
      sockets.hidden = ["MCP", "A2A"].includes(state.protocol);
      showProtocol();
      labels.textContent = (state.labels ?? []).join(" · ");
      prompt.control.setAttribute("placeholder", state.sample ?? "");
      const none = !(state.agents ?? []).length;
      ask.disabled = none || halt.disabled === false;
      nothing.textContent = none
        ? "No agents yet. Deploy one with bench.deploy(\"calculator\") or in the Build panel."
        : "No question has been asked yet.";
    }));
    body.keep(onMessage(model, "began", (turn) => {
      if (!turn.socket) asking(true);
      begin(turn);
      keepHeight(true);
      detailsOf(turn.turn, "Shown when the answer has ended.");
      if (prompt.value.trim() === turn.prompt.trim()) prompt.value = "";
    }));
    body.keep(onMessage(model, "question", async (question) => { if (speaking.isAsked() || question.message) (await speaking())?.ask(question); }));
    body.keep(onMessage(model, "server_log", async ({ text }) => (await speaking())?.log(text)));
    body.keep(onMessage(model, "session", (reply) => views.get(reply.turn)?.session(reply.session)));
    body.keep(onMessage(model, "pieces", (reply) => down(() => {
      views.get(reply.turn)?.take(reply.items);
      log.dispatchEvent(new CustomEvent("loom-pieces", { bubbles: true, detail: reply.items }));
    })));
    body.keep(onMessage(model, "socket", (reply) => showSocket(reply.open)));
    body.keep(onMessage(model, "ended", (turn) => { if (!turn.socket) asking(false); down(() => views.get(turn.turn)?.update(turn)); showFigures(turn); }));
    body.keep(onMessage(model, "details", (turn) => { down(() => views.get(turn.turn)?.update(turn)); showFigures(turn); }));
    body.keep(onMessage(model, "chat", chat));
    body.keep(onMessage(model, "logs", () => logs.reload()));
    body.keep(onMessage(model, "sessions", () => history.reload()));
    body.keep(onMessage(model, "trace", (reply) => {
      if (reply.turn !== shownTurn) detailsOf(reply.turn, "Reading the metrics …");
      refill(lanes, reply.sentences.map((item) => h("p", null, item)), reply.count > 0 && [
        waterfall({
          model, table: "bars", first: reply.first, last: reply.last, parts: reply.parts, label: "waterfall of the last answer",
          onOpen: (bar) => span.show(bar.id),
        }),
        h("p", { class: "loom-hint" }, "Press Enter or click to open a row."), span,
      ]);
    }));
    body.keep(onMessage(model, "approvals", showApprovals));
    body.keep(offFrames);
    body.save = () => ({ ...form(), prompt: prompt.value });
    body.restore = (kept) => {
      prompt.value = kept.prompt;
      if ((model.get("state").agents ?? []).includes(kept.agent)) choose({ agent: kept.agent, qualifier: kept.qualifier, session: kept.session });
    };
    act(model, "hello").then(async (reply) => {
      chat(reply);
      showSocket(Boolean(reply?.socket));
      if (reply?.question?.message) (await speaking())?.ask(reply.question);
    });
  }),
};
