// Parts that all displays share: a view's frame that reports when it opens and closes, texts, small tables, DataFrames.

/** The view of an object; it tells the kernel when it is shown and when it is closed. */
function shown(given, build) {
  return panel(given, (body, model) => {
    const view = newId("view");
    const send = (what) => { try { model.send({ do: what, with: { view } }); } catch { /* the kernel is gone */ } };
    send("seen");
    body.keep(() => send("unseen"));
    return build(body, model, model.get("state") ?? {});
  }, { isStatic: true });
}

const hint = (...children) => h("p", { class: "loom-hint" }, children);
const lines = (texts) => (texts ?? []).map((text) => h("p", null, calm(text)));

/** One row of a DataFrame, each column by its name. */
function wholeRow(cells) {
  return facts(cells.map(([name, text]) => [name || "–", h("span", { style: { "white-space": "pre-wrap" } }, calm(text) || "–")]));
}

/**
 * A DataFrame that the kernel stores (`put_frame`), sorts and filters. A click opens a row in full, or calls `open(row)`
 * if it is passed; `filter: false` leaves the filter out.
 */
function frameTable(model, frame, { label, open = null, height = 280, empty = "No rows.", filter = true }) {
  const detail = h("div", { "aria-live": "off" });
  const said = live({ class: "loom-hint" });
  const openRow = open ?? (async (row) => {
    const reply = await act(model, "row", { table: frame.table, at: row.at });
    if (reply?.cells) refill(detail, card(`Row ${formatNumber(row.at + 1)} of ${label}`, {}, wholeRow(reply.cells)));
  });
  const grid = table({
    model, table: frame.table, given: frame, key: "at", label, height, empty, onOpen: openRow,
    columns: frame.columns.map(({ key, name, kind, width }) => ({
      key, name, kind, width,
      show: kind === "text" ? (row) => short(calm(row[key] ?? "–"), 400) : null,
    })),
  });
  grid.querySelector("table").style.setProperty("min-width", "0");
  const text = field("Filter", { placeholder: "text in any column" });
  const applyFilter = async () => {
    const reply = await act(model, "filter_rows", { table: frame.table, text: text.value });
    if (!reply) return;
    said.say(reply.shown === reply.of ? "" : `${formatNumber(reply.shown)} of ${formatNumber(reply.of)} rows`);
    grid.reload();
  };
  text.control.addEventListener("change", applyFilter);
  return h("div", null, filter && frame.total > 5 && h("div", { class: "loom-row" }, text, said), grid, detail);
}

const head4 = (text) => h("h4", { style: { margin: "10px 0 4px" } }, text);
