// A trace: its sentences, the waterfall whose spans open, the spans as a table, the parts, the causes and the cost.

function traceView(model, trace) {
  const detail = spanDetail(model);
  const spanAt = trace.spans.columns.findIndex((column) => column.name === "span_id");
  const total = trace.bars.total;
  const cost = h("div");
  const priced = button("Show the cost", async () => {
    const reply = await act(model, "cost");
    if (reply?.sentence) refill(cost, h("p", null, reply.sentence), plainTable("costs", reply.lines));
  });
  const parts = [
    ["Waterfall", h("div", null, waterfall({
      model, table: "bars", given: trace.bars, first: trace.first, last: trace.last, parts: trace.parts, label: "waterfall",
      onOpen: (bar) => detail.show(bar.id),
    }), hint("Press Enter or click to open a row."))],
    ["Spans", frameTable(model, trace.spans, { label: "spans", open: (row) => detail.show(row[`c${spanAt}`]) })],
    trace.where && ["Where the time went", plainTable("where the time went", trace.where)],
    total > 0 && ["Findings", h("div", null, trace.causes.length
      ? trace.causes.map((cause) => card(short(cause.title, 200), { level: 5 }, h("p", null, cause.stake), h("p", null, calm(cause.evidence)), hint("try: ", cause.try)))
      : hint("No findings: no diagnosis rule applies."), h("div", { class: "loom-row" }, priced), cost)],
  ].filter(Boolean);
  return h("div", null, hint(calm(trace.heading)), lines(trace.sentences), total > 0 || trace.where ? tabs(parts, { label: "parts of the trace" }) : null, detail);
}
