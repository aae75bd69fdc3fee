// The maintenance tabs of the Memory panel: health and isolation, changes, copies, forgetting. Loaded when one of them is
// first opened.

/**
 * The interface to the panel: `tabs` (their contents by title), `follow(state, isOther)`, which is called with each new
 * state and whether it is of another memory, `shows` for results from before this view opened, and `empty()`.
 */
export default ({ button, card, checkbox, confirmButton, field, h, refill, row, select, short, statusDot, table }, model, page, ask, { jump, openRecord }) => {
  const { MAIN, NUM, WORST, blank, certainty, figure, head, hint, p, small, stated, tab, verdict } = page;

  // ---- health ----
  const allow = checkbox("Allow e-mail addresses and telephone numbers");
  const report = h("div", null, blank("Checks for leaks, secrets, personal data, contradictions, stale and duplicate records, idle strategies, and cost. Each finding comes with evidence and a fix."));
  const showHealth = (reply) => {
    const one = h("div");
    refill(report, p(verdict(reply.healthy, "healthy", "needs a fix"), " ", reply.sentence), hint([reply.growth, ...reply.labels].filter(Boolean).join(" · ")),
      table({ rows: reply.findings, key: "at", label: "findings", height: 220, empty: "No findings.", columns: [
        { key: "severity", width: "8em", show: (entry) => statusDot(entry.severity, WORST[entry.severity]) }, { key: "kind", width: "9em" }, { key: "what" },
        figure("count"), { key: "certainty", width: "7em", show: (entry) => certainty(entry.certainty) }],
      onOpen: (entry) => refill(one, card(entry.what, { state: entry.severity, kind: WORST[entry.severity] }, p(h("strong", null, "Fix: "), entry.fix),
        p(certainty(entry.certainty), entry.certainty === "inferred" && " detected by a language rule or by similarity: check before you fix it"),
        entry.evidence.map((item) => row(item.id && button("Show", () => (item.what === "event" && item.session ? jump(item) : openRecord(item))), h("span", { class: "loom-wide" }, item.text))))) }), one);
  };
  const checkHealth = async () => { const reply = await ask("health", { allow: allow.value ? ["email", "phone"] : [] }); if (reply) showHealth(reply); };

  // ---- changes ----
  const file = field("File", { placeholder: "before.json" });
  const before = select("Before"), after = select("After");
  const over = checkbox("overwrite an existing file");
  const changed = h("div", null, blank("AgentCore stores no earlier states. Take a snapshot now and compare with it later."));
  const showDiff = (reply) => refill(changed, p(reply.note),
    reply.counts.length > 0 && small(reply.counts, [{ key: "namespace" }, ...["created", "updated", "moved", "deleted"].map(figure)], "changes by namespace"),
    table({ model, table: "changes", key: "record_id", label: "changed records", height: 220, empty: "No record changed.",
      columns: [{ key: "change", width: "7em" }, { key: "namespace", width: "20%" }, { key: "before" }, { key: "after" }, { key: "strategy", width: "12%" }],
      onOpen: (entry) => entry.change !== "deleted" && openRecord({ id: entry.record_id }) }));
  const compare_ = async () => { const reply = await ask("diff", { before: before.value, after: after.value }); if (reply) showDiff(reply); };

  // ---- copies ----
  const path = field("File", { placeholder: "memory.jsonl" });
  const only = checkbox("only the chosen actor"), plain = checkbox("do not redact secrets and personal data"), replace = checkbox("overwrite an existing file");
  const copied = h("div");
  const exportForm = () => ({ path: path.value, only: only.value, plain: plain.value, overwrite: replace.value });
  const counted = [{ key: "what" }, figure("count")];
  const write = async () => {
    const reply = await ask("export", exportForm());
    if (reply) refill(copied, p(statusDot("done"), ` ${reply.note}`), small(reply.rows, counted, "the export"));
  };
  const exporting = h("span");
  const drawExport = () => refill(exporting, plain.value
    ? confirmButton("Export", "Anyone with the file can read every secret in it. Export without redaction?", write, { kind: "danger" })
    : button("Export", write, MAIN));
  plain.control.addEventListener("change", drawExport);
  drawExport();
  const source = field("Export file to import", { placeholder: "memory.jsonl" });
  const brought = h("div");
  const four = [{ key: "what" }, ...["in the export", "here already", "to write"].map(figure)];
  const lookIn = async () => {
    const reply = await ask("import_preview", { path: source.value });
    if (!reply) return;
    refill(brought, p(`From ${reply.source}: ${reply.note}`), small(reply.rows, four, "preview of the import"), row(button("Write it into this memory", async () => {
      const done = await ask("import_now");
      if (done) refill(brought, p(`Imported: ${done.note}`), small(done.rows, Object.keys(done.rows[0]).map((entry) => ({ key: entry, kind: entry === "what" ? "text" : "number" })), "the import"));
    }, MAIN)));
  };

  // ---- forgetting, isolation ----
  const who = field("Actor to forget");
  const gone = h("div");
  const showForgotten = (reply) => refill(gone,
    p(verdict(reply.verified, "verified", "not everything was deleted"), reply.verified ? ` A second check found no data of ${reply.actor}.` : ` Some data of ${reply.actor} is still stored.`),
    small(reply.rows, [{ key: "what" }, figure("deleted"), figure("left")], "deleted data"),
    reply.failures.length > 0 && h("ul", null, reply.failures.map((entry) => h("li", null, entry))),
    p(h("strong", null, "Not stored in this memory; check these places yourself:")), h("ul", null, reply.elsewhere.map((entry) => h("li", null, entry))),
    row(button("Verify again", async () => { const again = await ask("verify"); if (again) showForgotten(again); })));
  const preview = async () => {
    const reply = await ask("forget", { actor: who.value });
    if (!reply) return;
    const typed = field("Type the actor's id to delete permanently", { placeholder: reply.actor });
    const forget = button("Delete permanently", async () => { const done = await ask("forget_for_good", { typed: typed.value }); if (done) showForgotten(done); }, { kind: "danger", disabled: true });
    typed.control.addEventListener("input", () => { forget.disabled = typed.value !== reply.actor; });
    refill(gone, p(reply.note), small(reply.rows, [{ key: "what", width: "6em" }, { key: "where" }, { key: "how", name: "identified by", width: "16%" }, figure("count"), { key: "sample", show: (entry) => short(stated(entry.sample), 400) }], "data that would be deleted"),
      reply.events + reply.records > 0 && row(typed, forget), reply.events + reply.records > 0 && hint("This cannot be undone. Export a copy first, if you are allowed to keep one."));
  };
  const many = field("Actors", { ...NUM, value: 12, min: 2, max: 100 }), slashes = checkbox("ids with slashes");
  const crossed = h("div");
  const showIsolation = (reply) => refill(crossed, p(verdict(reply.isolated, "isolated", "not isolated"), ` ${reply.sentence}`),
    reply.rows.length > 0 && small(reply.rows, [{ key: "crosses", width: "6em" }, { key: "reader", width: "14%" }, { key: "owner", width: "14%" }, { key: "pattern", width: "16%" }, { key: "call" }, { key: "fix" }], "reads that crossed"));
  const isolate = async () => { const reply = await ask("isolation", { actors: many.value, slashes: slashes.value }); if (reply) showIsolation(reply); };

  const follow = (now, isOther) => {
    const shots = (now.snapshots ?? []).map((text, at) => [String(at), text]);
    before.options(shots.length ? shots : [["", "no snapshot yet"]]);
    after.options([["", "now"], ...shots]);
    only.control.disabled = !now.actor;
    if (isOther || (now.actor && !who.value)) who.value = now.actor ?? "";
  };
  return {
    follow, shows: { health: showHealth, diff: showDiff, isolation: showIsolation },
    empty: () => { for (const item of [report, changed, copied, brought, gone, crossed]) refill(item); },
    tabs: {
      Health: tab(row(button("Check", checkHealth, MAIN), allow), report, head("Isolation"), hint("Checks whether reads of one actor return another actor's data. Uses temporary actors with similar ids and removes them afterwards."), row(many, slashes, button("Check isolation", isolate)), crossed),
      Changes: tab(row(file, button("Take a snapshot", () => ask("snapshot", { path: file.value, overwrite: over.value }), MAIN), button("Open the file", () => ask("open_snapshot", { path: file.value })), over),
        row(before, after, button("Compare", compare_)), changed),
      Copies: tab(h("h4", null, "Export"), row(path, button("Preview", async () => {
        const reply = await ask("export_preview", exportForm());
        if (reply) refill(copied, p(reply.note), small(reply.rows, [{ key: "kind", width: "5em" }, { key: "where", width: "26%" }, { key: "text", name: "as it would be written" }], "preview of the export", "Nothing would be written."));
      }), exporting), row(only, plain, replace), copied, head("Import"), row(source, button("Preview", lookIn)), brought),
      Forget: tab(row(who, button("Preview", preview, MAIN)), gone),
    },
  };
};
