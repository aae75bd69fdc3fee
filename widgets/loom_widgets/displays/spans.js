// A trace: its sentences, the waterfall whose spans open, the spans as a table, the parts, the causes and the cost.

/** One span with what was said of it. */
function spanView(found) {
  return card(short(calm(found.name), 120) || "unnamed span", { state: found.failed ? "failed" : "" },
    facts(found.facts.map(([name, value]) => [name, calm(value) || "–"])),
    found.attributes.length > 0 && plainTable("attributes of the span", { head: ["attribute", "value"], rows: found.attributes }),
    found.events.length > 0 && plainTable("events of the span", { head: ["event", "after", "attributes"], rows: found.events }),
    found.said.length > 0 && folded(`Messages (${found.said.length})`, found.said.map(([name, text]) => block(name || "record", text))));
}

function traceView(model, trace) {
  const detail = h("div", { "aria-live": "off" });
  const open = async (id) => {
    const found = await act(model, "span", { id });
    if (found?.name === undefined) return;
    refill(detail, spanView(found));
    detail.scrollIntoView?.({ block: "nearest" });
  };
  const spanAt = trace.spans.columns.findIndex((column) => column.name === "span_id");
  const total = trace.bars.total;
  const cost = h("div");
  const priced = button("Show the cost", async () => {
    const found = await act(model, "cost");
    if (found?.sentence) refill(cost, h("p", null, found.sentence), plainTable("costs", found.lines));
  });
  const parts = [
    ["Waterfall", h("div", null, waterfall({
      model, table: "bars", given: trace.bars, first: trace.first, last: trace.last, parts: trace.parts, label: "waterfall",
      onOpen: (bar) => open(bar.id),
    }), hint(`${formatNumber(total)} ${total === 1 ? "span" : "spans"}. Press Enter or click to open a span.`))],
    ["Spans", frameTable(model, trace.spans, { label: "spans", open: (row) => open(row[`c${spanAt}`]) })],
    trace.where && ["Where the time went", plainTable("where the time went", trace.where)],
    total > 0 && ["Findings", h("div", null, trace.causes.length
      ? trace.causes.map((cause) => card(short(cause.title, 200), { level: 5 }, h("p", null, cause.stake), h("p", null, calm(cause.evidence)), hint("try: ", cause.try)))
      : hint("No findings: no diagnosis rule applies."), h("div", { class: "loom-row" }, priced), cost)],
  ].filter(Boolean);
  return h("div", null, hint(calm(trace.heading)), lines(trace.sentences), total > 0 || trace.where ? tabs(parts, { label: "parts of the trace" }) : null, detail);
}
