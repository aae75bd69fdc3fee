// An answer: its text and figures; trace, chunks, events and logs on demand.

const FOLDED_AT = 3000;

function answerView(state) {
  const text = h("div", { class: "loom-answer", style: { "white-space": "pre-wrap", "unicode-bidi": "plaintext" } }, calm(state.answer));
  const fold = button("", () => folding(!isFolded), { class: "loom-quiet", hidden: state.answer.length <= FOLDED_AT });
  let isFolded = false;
  const folding = (yes) => {
    isFolded = yes;
    for (const [name, value] of Object.entries(yes ? { "max-height": "18em", overflow: "auto" } : { "max-height": "none", overflow: "visible" })) text.style.setProperty(name, value);
    if (yes) text.tabIndex = 0; else text.removeAttribute("tabindex");
    fold.textContent = yes ? `Show all ${formatNumber(state.answer.length)} characters` : "Collapse";
  };
  folding(state.answer.length > FOLDED_AT);
  return h("div", null, text, fold, state.left_out > 0 && hint(`${formatNumber(state.left_out)} more characters are in .text`));
}

function figuresView(rows) {
  const said = (row) => (row.kind === "ms" ? formatMs(row.value) : row.kind === "time" ? formatTime(row.value) : row.kind === "number" ? formatNumber(row.value) : String(row.value));
  return facts(rows.map((row) => [row.name, [said(row), row.note && h("span", { class: "loom-hint" }, ` ${calm(row.note)}`)]]));
}

export default {
  render: (given) => shown(given, (body, model, state) => {
    const figures = h("div");
    const spans = h("div"), pieces = h("div"), logs = h("div");
    const stopping = button("Stop", () => stop(model), { hidden: true });
    const wanted = (title, name, into, said) => {
      const ask = button(title, async () => { ask.disabled = true; await act(model, name); ask.disabled = false; });
      return h("div", null, h("div", { class: "loom-row" }, ask, h("span", { class: "loom-hint" }, said)), into);
    };
    const parts = tabs([
      ["Figures", h("div", null, figures, h("div", { class: "loom-row" }, button("When did the agent start?", () => act(model, "start"))))],
      ["Trace", wanted("Read the trace", "trace", spans, "Its spans arrive within a second here, after minutes on AWS.")],
      ["Events", wanted("Read the events", "events", pieces, "When each chunk of the answer arrived, and its typed events.")],
      ["Logs", wanted("Read the logs", "logs", logs, "The log lines of its session.")],
    ], { label: "details of the answer" });
    put(body, [
      h("p", null, statusDot(state.status), h("span", { class: "loom-hint" }, ` session ${state.session}${state.labels.map((item) => ` · ${item}`).join("")}`)),
      folded(`Asked: ${short(calm(state.prompt), 100)}`, block("the prompt", state.prompt)),
      state.failure && h("p", null, h("strong", null, "Failed: "), calm(state.failure)),
      answerView(state), parts, h("div", { class: "loom-row" }, stopping),
    ]);
    const drawn = {};
    const once = (name, value, draw) => { if (value && drawn[name] !== JSON.stringify(value)) { drawn[name] = JSON.stringify(value); draw(value); } };
    body.keep(onState(model, "state", () => {
      const asked = model.get("state").asked ?? {};
      once("figures", asked.figures ?? state.figures, (result) => refill(figures, figuresView(result)));
      once("trace", asked.trace, (result) => refill(spans, traceView(model, result)));
      once("logs", asked.logs, (result) => refill(logs, frameTable(model, result, { label: "log lines of its session", empty: "No log lines yet." })));
      once("pieces", asked.pieces, (result) => refill(pieces,
        asked.events && [head4("Events"), frameTable(model, asked.events, { label: "events of the answer" })],
        head4("Pieces"), frameTable(model, result, { label: "pieces of the answer", height: 200, filter: false, empty: "No chunks are stored." })));
    }));
    body.keep(onState(model, "busy", () => { stopping.hidden = !model.get("busy"); }));
  }),
};
