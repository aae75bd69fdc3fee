// A study: sentences, intervals, every call as a dot, the calls as a table.

/** A value with its interval for each scenario and quantile: a line from low to high with a dot in it. */
function intervalChart(intervals, names) {
  const L = 130, R = 20, ROW = 24, H = intervals.length * ROW + 28;
  const most = intervals.reduce((result, item) => Math.max(result, item.high), 0) * 1.05 || 1;
  const picture = (W) => {
    const px = (value) => L + (value / most) * (W - L - R);
    const said = intervals.map((item) => `${item.scenario} ${item.quantile} ${formatMs(item.value)}, from ${formatMs(item.low)} to ${item.open ? "at least " : ""}${formatMs(item.high)}`);
    const svg = s("svg", { viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": `Percentiles with their 95\u00a0% intervals. ${said.join("; ")}` });
    for (const tick of ticks(0, most)) {
      svg.append(s("line", { x1: px(tick), x2: px(tick), y1: 0, y2: H - 24, class: "loom-grid" }), s("text", { x: px(tick), y: H - 8, "text-anchor": "middle" }, formatMs(tick)));
    }
    intervals.forEach((item, i) => {
      const y = i * ROW + 13, colour = PALETTE[names.indexOf(item.scenario) % PALETTE.length];
      svg.append(s("text", { x: 0, y: y + 4 }, `${item.scenario} ${item.quantile}`),
        s("line", { x1: px(item.low), x2: px(item.high), y1: y, y2: y, stroke: colour, "stroke-width": 3, "stroke-dasharray": item.open ? "5 3" : null }),
        s("circle", { cx: px(item.value), cy: y, r: 5, fill: colour }));
    });
    return svg;
  };
  const numbers = folded("Show as table", plainTable("percentiles with their intervals", {
    head: ["scenario", "percentile", "value", "from", "to"],
    rows: intervals.map((item) => [item.scenario, item.quantile, formatMs(item.value), formatMs(item.low), `${item.open ? "≥ " : ""}${formatMs(item.high)}`]),
  }));
  return h("figure", { class: "loom-chart" }, h("figcaption", null, "Percentiles with their 95\u00a0% intervals"), fitted(picture),
    hint("A broken line: there are too few calls to bound the upper end."), numbers);
}

export default {
  render: (given) => shown(given, (body, model, state) => {
    const result = state.findings;
    put(body, [
      hint(calm(state.heading)), lines(state.sentences), plainTable("each scenario's percentiles", state.summary), hint(state.floor),
      tabs([
        ["Intervals", state.intervals.length ? intervalChart(state.intervals, state.dots.map((item) => item.name)) : hint("Too few calls for a percentile.")],
        ["Each call", chart.dots({ title: "Each call's duration", series: state.dots, x: { name: "position in the plan", kind: "number" }, y: { name: "duration", kind: "ms" }, height: 220, empty: "No call was answered." })],
        ["Calls", frameTable(model, state.calls, { label: "calls of the study", height: 320 })],
        [`Findings (${result.length})`, h("div", null, result.length === 0 && hint("No findings."),
          result.map((item) => card(item.title, { level: 5 }, h("p", null, calm(item.evidence)), hint(item.advice))))],
        ["How it was measured", h("ul", null, state.notes.map((item) => h("li", null, item)))],
      ], { label: "parts of the study" }),
    ]);
  }),
};
