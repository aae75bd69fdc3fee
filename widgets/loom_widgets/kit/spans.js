// Spans as bars over time, and one of them in full.

const PARTS = {
  model: ["#0072B2", "model"], tools: ["#D55E00", "tools"], memory: ["#CC79A7", "memory"], agent: ["#009E73", "agent overhead"],
};
/**
 * Spans as bars over time, any number of them.
 *   bars   [{label, depth, start_ms, duration_ms, part, failed, marks}], parents before their children
 *   model, table, first, last   instead of bars: the table that the kernel stores, and the first and last time in ms
 *   total  the whole in ms; parts: {part: [colour, name]} (the kernel's own theme; see `PART_COLOURS`)
 */
function waterfall({ bars = [], total = 0, first = null, last = null, parts = PARTS, label = "waterfall", ...rest }) {
  first ??= bars.reduce((least, bar) => Math.min(least, bar.start_ms), 0);
  last ??= bars.reduce((most, bar) => Math.max(most, bar.start_ms + bar.duration_ms), total);
  const width = Math.max(last - first, 1e-6);
  const share = (value) => `${((100 * value) / width).toFixed(3)}%`;
  const columns = [
    { key: "label", name: "span", width: "34%", sort: false, show: (bar) => h("span", {
      class: "loom-span", style: { "padding-left": `${Math.min(bar.depth, 12) * 0.9}em` }, title: short(bar.label, 200),
    }, short(bar.label), bar.failed && h("strong", null, " failed"), bar.marks && h("em", null, ` ${bar.marks}`)) },
    { key: "part", name: "part", width: "10em", sort: false, show: (bar) => parts[bar.part]?.[1] ?? bar.part },
    { key: "start_ms", name: "after", kind: "ms", width: "6.5em", sort: false },
    { key: "duration_ms", name: "took", kind: "ms", width: "6.5em", sort: false },
    { key: "bar", name: "when", sort: false, show: (bar) => h("div", { class: "loom-lane", "aria-hidden": "true" }, h("span", {
      class: `loom-bar ${bar.failed ? "loom-failed" : ""}`,
      style: { left: share(bar.start_ms - first), width: share(bar.duration_ms), background: parts[bar.part]?.[0] ?? "#767b84" },
    })) },
  ];
  return table({ height: 300, empty: "No spans.", ...rest, columns, rows: bars, label });
}

/** One row of a waterfall in full: its facts, attributes, events and messages. */
function spanView(span) {
  return card(short(calm(span.name), 120) || "unnamed span", { state: span.failed ? "failed" : "" },
    facts(span.facts.map(([name, value]) => [name, calm(value) || "–"])),
    span.attributes.length > 0 && plainTable("attributes of the span", { head: ["attribute", "value"], rows: span.attributes }),
    span.events.length > 0 && plainTable("events of the span", { head: ["event", "after", "attributes"], rows: span.events }),
    span.messages.length > 0 && folded(`Messages (${span.messages.length})`, span.messages.map(([name, text]) => block(name || "record", text))));
}

/**
 * The place where rows of a waterfall are opened: `.show(id)` calls the panel's action `span` (with the values of `about()`)
 * and shows the result. The panel must have that action.
 */
function spanDetail(model, about = () => ({})) {
  const node = h("div", { "aria-live": "off" });
  node.show = async (id) => {
    const span = await act(model, "span", { id, ...about() });
    if (span?.name === undefined) return;
    refill(node, spanView(span));
    node.scrollIntoView?.({ block: "nearest" });
  };
  return node;
}
