// Parts that the Evaluate panel and the display of a run share: words with their signs, a case, and a diff of two paths.

const WORD_KIND = {
  passed: "good", "low score": "bad", failed: "bad", "answer failed": "bad", "judge failed": "wait", "not judged": "wait",
  scored: "wait", "not applicable": "wait", won: "good", lost: "bad", missed: "bad", unclear: "wait", better: "good", worse: "bad",
};
const cases_ = (count) => `${formatNumber(count)} ${count === 1 ? "case" : "cases"}`;
const SIGNS_OF_PATH = { kept: "=", changed: "~", moved: ">", missing: "−", extra: "+" };
const dot = (word) => statusDot(word, WORD_KIND[word]);
const score = (value, word) => h("span", { title: word }, word === "judge failed" ? "? judge" : value === null || value === undefined
  ? "–" : `${word === "low" ? "▼ " : word === "passed" ? "✓ " : ""}${formatScore(value)}`);
const list = (items) => (items ?? []).map((item) => h("p", null, item));
const gateLines = (gates) => (gates ?? []).map((item) => h("p", null, dot(item.outcome), " ", item.sentence));
const fold = (title, ...children) => h("details", null, h("summary", null, title), ...children);

/** A table of a few rows that is never scrolled: evidence, verdicts, paths. */
function small(label, heads, rows) {
  return h("div", { class: "loom-scroll", tabindex: 0, role: "region", "aria-label": label, style: { margin: "6px 0" } }, h("table", { class: "loom-plain", "aria-label": label, style: { width: "100%", "border-collapse": "collapse", "font-size": "12px", "text-align": "left" } },
    h("thead", null, h("tr", null, heads.map((item) => h("th", { scope: "col", style: { ...CELL, "white-space": "nowrap" } }, item)))),
    h("tbody", null, rows.map((row) => h("tr", null, row.map((item) => h("td", { style: CELL }, item)))))));
}
const SPACED = { style: { margin: "10px 0 4px" } };
const CELL = { "text-align": "left", padding: "3px 8px", "vertical-align": "top", "white-space": "pre-wrap", "overflow-wrap": "break-word" };

/** The differences between the expected path and the actual one. */
function pathView(path) {
  const parted = path.rows.some((row) => row.kind !== "kept");
  return h("div", null, h("h5", SPACED, `${path.title}: ${parted ? "the paths differ" : "the path is as expected"}`),
    small(`${path.title}: expected and called`, ["step", "expected", "called"], path.rows.map((row) => [
      h("span", { class: row.kind === "kept" ? "" : "loom-bad", style: { "white-space": "nowrap" } }, `${SIGNS_OF_PATH[row.kind] ?? "?"} ${row.kind}`),
      row.expected ? [h("span", { class: "loom-hint" }, `${row.expected_step ?? ""} `), h("code", null, row.expected)] : "",
      row.actual ? [h("span", { class: "loom-hint" }, `${row.actual_step ?? ""} `), h("code", null, row.actual)] : "",
    ])));
}

/** All details of one case. `extra` are buttons. */
function caseView(model, result, title) {
  const traced = h("div");
  const look = button("Show trace", async () => {
    look.disabled = true;
    refill(traced, h("p", { class: "loom-empty" }, "Reading the trace …"));
    const trace = await act(model, "trace", { run: result.run, invocation: result.invocation });
    look.disabled = false;
    if (!trace?.table) return void refill(traced);
    const detail = spanDetail(model, () => ({ table: trace.table }));
    refill(traced, list(trace.sentences), waterfall({ model, table: trace.table, empty: "No spans are loaded. Press Show trace to read them again.", first: trace.first, last: trace.last, parts: trace.parts, label: `waterfall of ${short(result.case, 40)}`,
      onOpen: (bar) => detail.show(bar.id) }), detail);
  });
  const said = result.turns.map((turn, at) => facts([
    [result.turns.length > 1 ? `asked (turn ${at + 1})` : "asked", pre(turn.asked)],
    ["answered", turn.answered === null ? h("em", null, "no answer") : pre(turn.answered || "(nothing)")],
    turn.expected !== null && ["expected", pre(turn.expected)],
  ].filter(Boolean)));
  return card(title ?? result.case, { state: result.state, kind: WORD_KIND[result.state], level: 4 },
    said,
    result.failure && h("p", null, h("strong", null, "No answer: "), result.failure),
    result.assertions.length > 0 && [h("h5", SPACED, "Asserted"), list(result.assertions)],
    result.verdicts.length > 0 && small("verdict of each evaluator", ["evaluator", "verdict", "score", "why"],
      result.verdicts.map((row) => [row.evaluator, dot(row.verdict), row.score, row.why])),
    result.paths.map(pathView),
    h("p", { class: "loom-hint" }, result.facts, result.is_reused ? " · reused from an earlier run" : "", result.tags.length ? ` · tags: ${result.tags.join(", ")}` : ""),
    result.invocation !== null && look, traced);
}
const pre = (text) => h("span", { style: { "white-space": "pre-wrap" } }, text);

