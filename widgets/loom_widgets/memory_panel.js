// Memory: what is remembered, of whom, where it came from, and its order.

const EVENTS_AT = 1, RECORDS_AT = 2, TIMELINE_AT = 4, ANSWERS_AT = 5;
const TIME = { key: "at", name: "when", kind: "time", width: "12em" };
const WORST = { problem: "bad", warning: "wait", note: "good" };
const NUM = { type: "number" }, MAIN = { kind: "main" };
const KINDS = [["semantic", "facts"], ["preferences", "preferences"], ["summary", "summaries"], ["episodic", "episodes"]];

/** When it was said and extracted: a lane for each who spoke and for each strategy. */
function laneChart(lanes, label) {
  const W = 640, L = 190, R = 14, ROW = 24, H = lanes.length * ROW + 26;
  const times = lanes.flatMap(([, marks]) => marks.map(([at]) => at));
  const first = times.reduce((a, b) => Math.min(a, b), Infinity), last = times.reduce((a, b) => Math.max(a, b), -Infinity);
  const px = (at) => L + ((at - first) / Math.max(last - first, 1e-6)) * (W - L - R);
  const svg = s("svg", { viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": `${label}: ${lanes.map(([name, marks]) => `${name} ${marks.length}`).join("; ")}` });
  lanes.forEach(([name, marks], i) => {
    const y = i * ROW + 13, colour = PALETTE[i % PALETTE.length];
    svg.append(s("text", { x: 0, y: y + 4 }, short(name, 30)), s("line", { x1: L, x2: W - R, y1: y, y2: y, class: "loom-grid" }));
    for (const [at, changed] of marks) svg.append(s("circle", { cx: px(at).toFixed(1), cy: y, r: 4.5, fill: changed ? "none" : colour, stroke: colour, "stroke-width": 1.5 }));
  });
  svg.append(s("text", { x: L, y: H - 4 }, when(first)), s("text", { x: W - R, y: H - 4, "text-anchor": "end" }, when(last)));
  return h("figure", { class: "loom-chart" }, svg, hint("● said or extracted, ○ changed later. The table below says the same."));
}

function small(rows, columns, label, empty = "Nothing.") {
  return table({ rows, columns, label, empty, height: 200 });
}
const figure = (key) => ({ key, kind: "number", width: "7em" });
const words = (text) => h("pre", { tabindex: 0, style: { "max-height": "16em" } }, text);
const hint = (...children) => h("p", { class: "loom-hint" }, children);
const blank = (text) => h("p", { class: "loom-empty" }, text);
const p = (...children) => h("p", null, children);
const row = (...children) => h("div", { class: "loom-row" }, children);
/** What a preference's JSON states; other texts as they are. */
const stated = (text) => { try { return JSON.parse(text).preference ?? text; } catch { return text; } };
const verdict = (good, yes, no) => statusDot(good ? yes : no, good ? "good" : "bad");
const TEXT = { key: "text", show: (each) => short(stated(each.text), 400) };
const head = (text) => h("h4", { style: { "margin-top": "12px" } }, text);
const certainty = (word) => statusDot(word, word === "told" ? "good" : "wait");

export default {
  render: (view) => panel(view, (body, model) => {
    const state = () => model.get("state") ?? {};
    const ask = async (name, form) => { const told = await act(model, name, form); return told?.stopped ? null : told; };
    const loaded = {};
    const key = () => [state().memory, state().actor, state().session].join("|");

    // ---- which memory, whose ----
    const labels = hint();
    const memory = select("Memory"), actor = select("Actor"), session = select("Session");
    const halt = button("Stop", () => stop(model), { disabled: true });
    const about = h("details"), pickers = row(memory, actor, session, button("Refresh", () => ask("refresh")), halt);
    const name = field("Name", { placeholder: "assistant" });
    const kinds = KINDS.map(([value, text]) => [value, checkbox(text, { checked: value === "semantic" })]);
    const days = field("Events expire after days", { ...NUM, value: 90, min: 3, max: 365 });
    const making = h("details", null, h("summary", null, "New memory"),
      row(name, days), row(h("strong", null, "Extract"), kinds.map(([, box]) => box),
        button("Create", async () => {
          const made = await ask("create", { name: name.value, days: days.value, strategies: kinds.filter(([, box]) => box.value).map(([value]) => value) });
          if (made) { making.open = false; name.value = ""; }
        }, MAIN)),
      hint("A name begins with a letter and has letters, digits and _. Without strategies events are kept, nothing is extracted. On AWS both cost."));
    const none = h("div", { class: "loom-box" });

    // ---- one event or record in full, below the tabs ----
    const detail = h("section", { class: "loom-box", "aria-label": "chosen", hidden: true });
    const open = (...children) => { refill(detail, ...children); detail.hidden = false; detail.scrollIntoView?.({ block: "nearest" }); };
    const close = () => { detail.hidden = true; detail.replaceChildren(); };
    const showEvent = (event) => event && open(
      h("div", { class: "loom-card-head" }, h("h4", null, "Event"), button("Close", close)),
      facts([["when", when(event.at)], ["actor", event.actor], ["session", event.session],
        ...(event.branch ? [["branch", event.branch], ["forked at", event.root]] : []), ["event id", event.id], ...event.metadata.map(([a, b]) => [a, b])]),
      event.messages.map(([role, text]) => [h("strong", null, role.toLowerCase()), words(text)]));
    const showRecord = (record) => {
      if (!record) return;
      const from = h("div");
      open(h("div", { class: "loom-card-head" }, h("h4", null, "Record"), button("Close", close)), words(record.text),
        facts([["namespace", record.namespace], ["strategy", record.strategy || "none"], ["created", when(record.created)],
          [record.updated < record.created ? "said" : "updated", when(record.updated)], record.extractor && ["extracted by", record.extractor], ["record id", record.id],
          ...(record.metadata ?? [])].filter(Boolean)),
        row(button("Where does it come from?", async () => {
          const found = await ask("provenance", { id: record.id });
          if (!found) return;
          refill(from, p(statusDot(found.state.replaceAll("_", " "), found.state === "told" ? "good" : "wait"), " ", found.sentence),
            found.rows.length > 0 && table({ rows: found.rows, key: "id", label: "sources of this record", height: 180, onOpen: jump, columns: [
              { key: "certainty", width: "7em", show: (each) => certainty(each.certainty) }, { key: "score", kind: "number", width: "5em" },
              { key: "said" }, TIME, { key: "session", width: "16%" }] }),
            found.rows.length > 0 && hint("Choose a row: it opens the event among its session's."));
          from.scrollIntoView?.({ block: "nearest" });
        }, MAIN)), from);
    };
    const openEvent = async (found) => showEvent((await ask("event", { id: found.id }))?.event);
    const openRecord = async (found) => showRecord((await ask("record", { id: found.id }))?.record);
    const jump = async (found) => {
      loaded[EVENTS_AT] = [state().memory, found.actor, found.session].join("|");
      const at = await ask("jump", { id: found.id, actor: found.actor, session: found.session });
      if (!at) return;
      parts.open(EVENTS_AT);
      await events.goTo(at.at);
      showEvent(at.event);
    };

    // ---- actors and sessions ----
    const pick = (some) => ask("choose", { actor: state().actor ?? "", session: "", ...some });
    const actors = table({ model, table: "actors", key: "actor", label: "actors", height: 230, columns: [{ key: "actor" }], onOpen: (each) => pick({ actor: each.actor }),
      empty: "Nobody has said anything yet. An agent writes events with CreateEvent: the blueprint assistant_with_memory does." });
    const sessions = table({ model, table: "sessions", key: "session", label: "sessions of the actor", height: 230, onOpen: (each) => pick({ session: each.session }),
      columns: [{ key: "session" }, { ...TIME, key: "created", name: "created" }], empty: "Choose an actor: its sessions appear here." });

    // ---- events and records, as far as they were read ----
    const reader = (what, load, list) => {
      const said = hint();
      said.say = (text) => { said.textContent = text; };  // the panel's own status line speaks
      const on = button("Read 10 000 more", () => ask("more", { what, count: 10000 }));
      const all = button("Read all", () => ask("more", { what, count: 10000000 }));
      const show = ({ count, whole }) => {
        said.say(count === 0 ? "" : `${num(count)} ${count === 1 ? what.slice(0, -1) : what} read${whole ? ", all there are" : "; there are more. What is sorted is what was read"}.`);
        on.hidden = all.hidden = whole || count === 0;
        list.reload();
      };
      return { bar: [button("Read again", load), on, all], said, show };
    };
    const branch = select("Branch", [["", "all"]]), since = field("Of the last days", { ...NUM, min: 0, placeholder: "all" });
    const loadEvents = () => { loaded[EVENTS_AT] = key(); eventPages.said.say("Reading …"); return ask("events", { branch: branch.value, days: since.value }); };
    const events = table({ model, table: "events", key: "id", label: "events", height: 300, onOpen: openEvent, empty: "No events here.", columns: [
      TIME, { key: "actor", width: "12%" }, { key: "session", width: "14%" },
      { key: "text", name: "said" },
      { key: "metadata", name: "branch, metadata", width: "17%", show: (each) => [each.branch && `branch ${each.branch}`, each.metadata].filter(Boolean).join(" · ") }] });
    const eventPages = reader("events", loadEvents, events);
    const namespace = field("Namespace", { placeholder: "everywhere" });
    const places = h("div", { class: "loom-row" });
    const strategy = select("Strategy", [["", "all"]]);
    const loadRecords = () => { loaded[RECORDS_AT] = key(); recordPages.said.say("Reading …"); return ask("records", { namespace: namespace.value, strategy: strategy.value }); };
    const shownRecord = [{ ...TEXT, name: "record" }, { key: "namespace", width: "20%" }, { key: "strategy", width: "12%" },
      { ...TIME, key: "created", name: "created" }, { key: "extractor", name: "extracted by", width: "10em" }];
    const records = table({ model, table: "records", key: "id", label: "records", height: 300, onOpen: openRecord, columns: shownRecord,
      empty: "No records here. Strategies write them some time after a turn; a memory without a strategy has none." });
    const recordPages = reader("records", loadRecords, records);

    // ---- search ----
    const query = field("Question", { placeholder: "What does anna eat?" });
    query.classList.add("loom-wide");
    const where = field("Namespace", { placeholder: "everywhere" });
    const top = field("At most", { ...NUM, value: 10, min: 1, max: 100 });
    const least = field("Score from", { ...NUM, value: 0, min: 0, max: 1, step: 0.05 });
    const hits = live();
    let found = [];
    const results = table({ rows: [], key: "id", label: "what was found", height: 260, onOpen: openRecord, empty: "Ask in plain words: the records nearest in meaning come first.", columns: [
      { key: "score", width: "9em", show: (each) => h("div", { class: "loom-lane" }, h("span", { class: "loom-bar", "aria-hidden": "true", style: { left: "3.4em", width: `calc(${Math.max(0, Math.min(1, each.score ?? 0))} * (100% - 3.6em))`, background: PALETTE[0] } }), num(each.score)) },
      ...shownRecord.filter((each) => each.key !== "created")] });
    const drawHits = () => {
      const good = found.filter((each) => (each.score ?? 0) >= Number(least.value || 0));
      results.rows(good);
      const left = found.length - good.length;
      hits.say(left ? `${num(good.length)} of ${num(found.length)} shown; ${num(left)} under the score ${left === 1 ? "is" : "are"} left out.` : "");
    };
    const search = async () => {
      const answer = await ask("search", { query: query.value, namespace: where.value, top_k: top.value, least: least.value });
      if (!answer) return;
      found = answer.rows ?? [];
      drawHits();
    };
    query.control.addEventListener("keydown", (event) => { if (event.key === "Enter") search(); });
    least.control.addEventListener("input", drawHits);

    // ---- timeline, and what answers used ----
    const time = h("div", null, blank("Choose an actor at the top: what was said and what was made of it appears here."));
    const loadTimeline = async () => {
      loaded[TIMELINE_AT] = key();
      if (!state().actor) return;
      const told = await ask("timeline");
      if (!told) return;
      refill(time, hint(`${num(told.total)} moments of ${told.actor}${told.drawn < told.total ? `, the newest ${num(told.drawn)} drawn` : ""}. ${told.note}`),
        told.lanes.length > 0 && laneChart(told.lanes, `timeline of ${told.actor}`),
        table({ model, table: "timeline", key: ["id", "what"], label: "timeline", height: 230, empty: "Nothing was said by this actor and nothing is known.",
          onOpen: (each) => (each.what === "said" ? jump({ id: each.id, actor: told.actor, session: each.session }) : openRecord(each)),
          columns: [TIME, { key: "what", width: "9em" }, { key: "lane", width: "24%" }, TEXT] }), row(button("Read again", loadTimeline)));
    };
    const agent = select("Agent");
    const uses = h("div");
    const answers = table({ model, table: "answers", key: "id", label: "answers of the agent", height: 170, empty: "No answers yet: ask an agent in the Test panel.",
      columns: [{ key: "at", name: "asked", kind: "time", width: "12em" }, { key: "prompt", name: "question" }, { key: "status", kind: "status", width: "8em" }],
      onOpen: async (each) => {
        const told = await ask("used", { agent: agent.value, invocation: each.id });
        if (told) refill(uses, p(told.note), table({ rows: told.rows, key: "id", label: "records in the answer's prompt", height: 200, onOpen: openRecord, empty: "No record of this memory stood in its prompt.",
          columns: [{ key: "text", name: "record" }, { key: "where", width: "8em" }, { key: "confidence", width: "7em" }, { key: "because", width: "24%" }, { key: "namespace", width: "16%" }] }));
      } });
    const loadAnswers = async () => {
      loaded[ANSWERS_AT] = state().memory;
      const told = await ask("answers", { agent: agent.value });
      if (told) { agent.options(told.agents, told.agent); answers.reload(); refill(uses); }
    };
    agent.control.addEventListener("change", loadAnswers);

    // ---- health ----
    const allow = checkbox("e-mail addresses and telephone numbers may be here");
    const report = h("div", null, blank("Looks for leaks, secrets, personal data, contradictions, stale and double records, idle strategies, and cost. Each finding has evidence and a mend."));
    const showHealth = (told) => {
      const one = h("div");
      refill(report, p(verdict(told.healthy, "healthy", "to mend"), " ", told.sentence), hint([told.growth, ...told.labels].filter(Boolean).join(" · ")),
        table({ rows: told.findings, key: "at", label: "findings", height: 220, empty: "Nothing to mend.", columns: [
          { key: "severity", width: "8em", show: (each) => statusDot(each.severity, WORST[each.severity]) }, { key: "kind", width: "9em" }, { key: "what" },
          figure("count"), { key: "certainty", width: "7em", show: (each) => certainty(each.certainty) }],
        onOpen: (each) => refill(one, card(each.what, { state: each.severity, kind: WORST[each.severity] }, p(h("strong", null, "Mend: "), each.mend),
          p(certainty(each.certainty), each.certainty === "inferred" && " by a rule on language or by similarity: look before you mend"),
          each.evidence.map((item) => row(item.id && button("Look", () => (item.what === "event" && item.session ? jump(item) : openRecord(item))), h("span", { class: "loom-wide" }, item.text))))) }), one);
    };
    const checkHealth = async () => { const told = await ask("health", { allow: allow.value ? ["email", "phone"] : [] }); if (told) showHealth(told); };

    // ---- changes ----
    const file = field("File", { placeholder: "before.json" });
    const before = select("Before"), after = select("After");
    const over = checkbox("write over it");
    const changed = h("div", null, blank("AgentCore keeps no former states: take a snapshot now, and compare later."));
    const showDiff = (told) => refill(changed, p(told.note),
      told.counts.length > 0 && small(told.counts, [{ key: "namespace" }, ...["created", "updated", "moved", "deleted"].map(figure)], "changes by namespace"),
      table({ model, table: "changes", key: "record_id", label: "changed records", height: 220, empty: "No record changed.",
        columns: [{ key: "change", width: "7em" }, { key: "namespace", width: "20%" }, { key: "before" }, { key: "after" }, { key: "strategy", width: "12%" }],
        onOpen: (each) => each.change !== "deleted" && openRecord({ id: each.record_id }) }));
    const compare_ = async () => { const told = await ask("diff", { before: before.value, after: after.value }); if (told) showDiff(told); };

    // ---- copies ----
    const path = field("File", { placeholder: "memory.jsonl" });
    const only = checkbox("only the chosen actor"), plain = checkbox("keep secrets and personal data (not redacted)"), replace = checkbox("write over it");
    const copied = h("div");
    const exportForm = () => ({ path: path.value, only: only.value, plain: plain.value, overwrite: replace.value });
    const counted = [{ key: "what" }, figure("count")];
    const write = async () => {
      const told = await ask("export", exportForm());
      if (told) refill(copied, p(statusDot("done"), ` ${told.note}`), small(told.rows, counted, "what was exported"));
    };
    const exporting = h("span");
    const drawExport = () => refill(exporting, plain.value
      ? confirmButton("Export", "Whoever has the file has every secret in it. Export all the same?", write, { kind: "danger" })
      : button("Export", write, MAIN));
    plain.control.addEventListener("change", drawExport);
    drawExport();
    const source = field("Export to bring in", { placeholder: "memory.jsonl" });
    const brought = h("div");
    const four = [{ key: "what" }, ...["in the export", "here already", "to write"].map(figure)];
    const lookIn = async () => {
      const told = await ask("import_preview", { path: source.value });
      if (!told) return;
      refill(brought, p(`From ${told.source}: ${told.note}`), small(told.rows, four, "what an import would bring"), row(button("Write it into this memory", async () => {
        const done = await ask("import_now");
        if (done) refill(brought, p(`Imported: ${done.note}`), small(done.rows, Object.keys(done.rows[0]).map((each) => ({ key: each, kind: each === "what" ? "text" : "number" })), "what was imported"));
      }, MAIN)));
    };

    // ---- forgetting, isolation ----
    const who = field("Actor to forget");
    const gone = h("div");
    const showForgotten = (told) => refill(gone,
      p(verdict(told.verified, "verified", "NOT all is gone"), told.verified ? ` A second look found nothing of ${told.actor}.` : ` Something of ${told.actor} is still here.`),
      small(told.rows, [{ key: "what" }, figure("deleted"), figure("left")], "what was deleted"),
      told.failures.length > 0 && h("ul", null, told.failures.map((each) => h("li", null, each))),
      p(h("strong", null, "Out of reach of a memory, look there yourself:")), h("ul", null, told.elsewhere.map((each) => h("li", null, each))),
      row(button("Look again", async () => { const again = await ask("verify"); if (again) showForgotten(again); })));
    const preview = async () => {
      const told = await ask("forget", { actor: who.value });
      if (!told) return;
      const typed = field("Type the actor's id to delete for good", { placeholder: told.actor });
      const forget = button("Forget for good", async () => { const done = await ask("forget_for_good", { typed: typed.value }); if (done) showForgotten(done); }, { kind: "danger", disabled: true });
      typed.control.addEventListener("input", () => { forget.disabled = typed.value !== told.actor; });
      refill(gone, p(told.note), small(told.rows, [{ key: "what", width: "6em" }, { key: "where" }, { key: "how", name: "known by", width: "16%" }, figure("count"), { key: "sample", show: (each) => short(stated(each.sample), 400) }], "what would be deleted"),
        told.events + told.records > 0 && row(typed, forget), told.events + told.records > 0 && hint("There is no way back. Copies keeps one, if you may keep it."));
    };
    const many = field("Actors", { ...NUM, value: 12, min: 2, max: 100 }), slashes = checkbox("ids with slashes");
    const crossed = h("div");
    const showIsolation = (told) => refill(crossed, p(verdict(told.isolated, "isolated", "look here"), ` ${told.sentence}`),
      told.rows.length > 0 && small(told.rows, [{ key: "crosses", width: "6em" }, { key: "reader", width: "14%" }, { key: "owner", width: "14%" }, { key: "pattern", width: "16%" }, { key: "call" }, { key: "mend" }], "reads that crossed"));
    const isolate = async () => { const told = await ask("isolation", { actors: many.value, slashes: slashes.value }); if (told) showIsolation(told); };

    // ---- all together ----
    const tab = (...children) => h("div", null, children);
    const parts = tabs([
      ["Actors", h("div", { class: "loom-columns" }, actors, sessions)],
      ["Events", tab(row(branch, since, eventPages.bar), eventPages.said, events)],
      ["Records", tab(row(namespace, strategy, recordPages.bar), places, recordPages.said, records)],
      ["Search", tab(row(query, button("Search", search, MAIN)), row(where, top, least), hits, results)],
      ["Timeline", time],
      ["Used", tab(hint("Choose an answer: which records of this memory stood in its prompt, by its trace."), row(agent), answers, uses)],
      ["Health", tab(row(button("Check", checkHealth, MAIN), allow), report, head("Isolation"), hint("Whether a read of one actor brings what is another's: tried with scratch actors of nearly the same ids, all of it taken away again."), row(many, slashes, button("Check isolation", isolate)), crossed)],
      ["Changes", tab(row(file, button("Take a snapshot", () => ask("snapshot", { path: file.value, overwrite: over.value }), MAIN), button("Open the file", () => ask("open_snapshot", { path: file.value })), over),
        row(before, after, button("Compare", compare_)), changed)],
      ["Copies", tab(h("h4", null, "Export"), row(path, button("Preview", async () => {
        const told = await ask("export_preview", exportForm());
        if (told) refill(copied, p(told.note), small(told.rows, [{ key: "kind", width: "5em" }, { key: "where", width: "26%" }, { key: "text", name: "as it would be written" }], "preview of the export", "Nothing would be written."));
      }), exporting), row(only, plain, replace), copied, head("Import"), row(source, button("Preview", lookIn)), brought)],
      ["Forget", tab(row(who, button("Preview", preview, MAIN)), gone)],
    ], { label: "parts of the memory" });
    const fresh = () => {
      if (!state().memory) return;
      if (parts.at === EVENTS_AT && loaded[EVENTS_AT] !== key()) loadEvents();
      if (parts.at === RECORDS_AT && loaded[RECORDS_AT] !== key()) loadRecords();
      if (parts.at === TIMELINE_AT && loaded[TIMELINE_AT] !== key()) loadTimeline();
      if (parts.at === ANSWERS_AT && loaded[ANSWERS_AT] !== state().memory) loadAnswers();
    };
    for (const each of parts.querySelectorAll(":scope > [role=tabpanel]")) each.addEventListener("loom-shown", () => { close(); fresh(); });

    memory.control.addEventListener("change", () => { close(); ask("choose_memory", { memory: memory.value }); });
    actor.control.addEventListener("change", () => pick({ actor: actor.value }));
    session.control.addEventListener("change", () => pick({ session: session.value }));
    branch.control.addEventListener("change", loadEvents);
    since.control.addEventListener("change", loadEvents);
    strategy.control.addEventListener("change", loadRecords);
    namespace.control.addEventListener("change", loadRecords);
    put(body, [labels, pickers, none, about, making, parts, detail]);

    let shownMemory = null;
    body.keep(onState(model, "state", () => {
      const now = state(), known = now.memories ?? [], told = now.about ?? {};
      const named = (list, chosen) => (chosen && !list.includes(chosen) ? [chosen, ...list] : list);
      labels.textContent = (now.labels ?? []).join(" · ");
      labels.hidden = !labels.textContent;
      none.hidden = known.length > 0;
      refill(none, (now.teach ?? []).map((each, at) => p(at ? each : h("strong", null, each))));
      parts.hidden = about.hidden = !now.memory;
      pickers.hidden = !known.length;
      memory.options(known.map(([id, called, status]) => [id, status === "ACTIVE" ? called : `${called} (${status.toLowerCase()})`]), now.memory);
      const people = named(now.actors ?? [], now.actor), rest = (now.actors_total ?? 0) - people.length;
      actor.options([["", `everybody (${num(now.actors_total ?? 0)}${now.actors_cut ? "+" : ""})`], ...people, ...(rest > 0 ? [["", `… ${num(rest)} more under Actors`]] : [])], now.actor ?? "");
      session.options([["", now.actor ? `all (${num(now.sessions_total ?? 0)}${now.sessions_cut ? "+" : ""})` : "choose an actor first"], ...named(now.sessions ?? [], now.session)], now.session ?? "");
      session.control.disabled = !now.actor;
      const shots = (now.snapshots ?? []).map((text, at) => [String(at), text]);
      before.options(shots.length ? shots : [["", "no snapshot yet"]]);
      after.options([["", "now"], ...shots]);
      only.control.disabled = !now.actor;
      if (now.actor && !who.value) who.value = now.actor;
      if (shownMemory !== told.id) {
        shownMemory = told.id;
        strategy.options([["", "all"], ...(told.strategies ?? []).map(([each]) => each)], "");
        namespace.value = "";
        who.value = now.actor ?? "";
        refill(places, [...new Set((told.strategies ?? []).flatMap(([, , list]) => list))].map((each) => button(each, () => { namespace.value = each; where.value = each; loadRecords(); })));
        const list = told.strategies ?? [];
        making.open = !told.id;
        refill(about, told.id && [
          h("summary", null, statusDot(told.status), ` · ${list.length ? `extracts ${list.map(([called]) => called).join(", ")}` : "no strategy: events are kept, nothing is extracted"}`
            + `${told.expiry ? ` · events expire after ${told.expiry} days` : ""}${told.failure ? ` · ${told.failure}` : ""}`),
          facts([["id", `${told.id} · ${told.region}`], ...list.map(([called, kind, each]) => [called === kind ? kind : `${called} (${kind})`, each.join(", ")])])]);
      }
      if (parts.at !== undefined) fresh();
    }));
    body.keep(onState(model, "busy", () => { halt.disabled = !model.get("busy"); }));
    body.keep(onMessage(model, "people", () => { actors.reload(); sessions.reload(); }));
    body.keep(onMessage(model, "read", (told) => {
      if (told.what === "events") { eventPages.show(told); branch.options([["", "all"], ...told.branches]); } else recordPages.show(told);
    }));
    const again = (told) => {
      const shown = { health: showHealth, diff: showDiff, isolation: showIsolation };
      for (const [each, value] of Object.entries(told?.found ?? {})) shown[each]?.(value);
    };
    body.keep(onMessage(model, "memory", (told) => {
      for (const each of Object.keys(loaded)) delete loaded[each];
      for (const each of [report, changed, copied, brought, gone, crossed, uses]) refill(each);
      found = [];
      drawHits();
      again(told);
      fresh();
    }));
    ask("hello").then(again);
  }),
};
