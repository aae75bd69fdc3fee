// Memory: stored events and records, their actors, their sources, and their order.

const EVENTS_AT = 1, RECORDS_AT = 2, TIMELINE_AT = 4, ANSWERS_AT = 5;
const KEEPING = ["Health", "Changes", "Copies", "Forget"];
export default {
  render: (view) => panel(view, (body, model) => {
    const state = () => model.get("state") ?? {};
    const ask = async (name, form) => { const reply = await act(model, name, form); return reply?.stopped ? null : reply; };
    const loaded = {};
    const key = () => [state().memory, state().actor, state().session].join("|");

    // ---- memory and actor ----
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
      hint("A name starts with a letter and contains letters, digits and _. Without strategies, events are stored and nothing is extracted. On AWS, events and extraction are billed."));
    const none = h("div", { class: "loom-box" });

    // ---- one event or record in full, below the tabs ----
    const detail = h("section", { class: "loom-box", "aria-label": "chosen", hidden: true });
    const open = (...children) => { refill(detail, ...children); detail.hidden = false; detail.scrollIntoView?.({ block: "nearest" }); };
    const close = () => { detail.hidden = true; detail.replaceChildren(); };
    const showEvent = (event) => event && open(
      h("div", { class: "loom-card-head" }, h("h4", null, "Event"), button("Close", close)),
      facts([["when", formatTime(event.at)], ["actor", event.actor], ["session", event.session],
        ...(event.branch ? [["branch", event.branch], ["forked at", event.root]] : []), ["event id", event.id], ...event.metadata.map(([a, b]) => [a, b])]),
      event.messages.map(([role, text]) => [h("strong", null, role.toLowerCase()), words(text)]));
    const showRecord = (record) => {
      if (!record) return;
      const from = h("div");
      open(h("div", { class: "loom-card-head" }, h("h4", null, "Record"), button("Close", close)), words(record.text),
        facts([["namespace", record.namespace], ["strategy", record.strategy || "none"], ["created", formatTime(record.created)],
          [record.updated < record.created ? "message" : "updated", formatTime(record.updated)], record.extractor && ["extracted by", record.extractor], ["record id", record.id],
          ...(record.metadata ?? [])].filter(Boolean)),
        row(button("Show the source", async () => {
          const result = await ask("provenance", { id: record.id });
          if (!result) return;
          refill(from, p(statusDot(result.state.replaceAll("_", " "), result.state === "stated" ? "good" : "wait"), " ", result.sentence),
            result.rows.length > 0 && table({ rows: result.rows, key: "id", label: "sources of this record", height: 180, onOpen: jump, columns: [
              { key: "certainty", width: "7em", show: (item) => certainty(item.certainty) }, { key: "score", kind: "score", width: "5em" },
              { key: "excerpt" }, TIME, { key: "session", width: "16%" }] }),
            result.rows.length > 0 && hint("Choose a row to open the event in its session."));
          from.scrollIntoView?.({ block: "nearest" });
        }, MAIN)), from);
    };
    const openEvent = async (result) => showEvent((await ask("event", { id: result.id }))?.event);
    const openRecord = async (result) => showRecord((await ask("record", { id: result.id }))?.record);
    const jump = async (result) => {
      loaded[EVENTS_AT] = filtered = [state().memory, result.actor, result.session].join("|");
      branch.value = "";
      const at = await ask("jump", { id: result.id, actor: result.actor, session: result.session });
      if (!at) return;
      parts.open(EVENTS_AT);
      await events.goTo(at.at);
      showEvent(at.event);
    };

    // ---- actors and sessions ----
    const pick = (some) => ask("choose", { actor: state().actor ?? "", session: "", ...some });
    const actors = table({ model, table: "actors", key: "actor", label: "actors", height: 230, columns: [{ key: "actor" }], onOpen: (item) => pick({ actor: item.actor }),
      empty: "No events yet. An agent writes them with CreateEvent, as the blueprint assistant_with_memory does." });
    const sessions = table({ model, table: "sessions", key: "session", label: "sessions of the actor", height: 230, onOpen: (item) => pick({ session: item.session }),
      columns: [{ key: "session" }, { ...TIME, key: "created", name: "created" }], empty: "Choose an actor to see its sessions." });

    // ---- the events and records read so far ----
    const reader = (what, load, list) => {
      const said = hint();
      said.say = (text) => { said.textContent = text; };  // not a live region: the panel's own status line is announced
      const on = button("Read 10 000 more", () => ask("more", { what, count: 10000 }));
      const all = button("Read all", () => ask("more", { what, count: 10000000 }));
      const show = ({ count, whole }) => {
        said.say(count === 0 ? "" : `${formatNumber(count)} ${count === 1 ? what.slice(0, -1) : what} read${whole ? " (all)" : "; there are more. Sorting covers the rows that were read"}.`);
        on.hidden = all.hidden = whole || count === 0;
        list.reload();
      };
      return { bar: [button("Read again", load), on, all], said, show };
    };
    const branch = select("Branch", [["", "all"]]), since = field("Last days", { ...NUM, min: 0, placeholder: "all" });
    let filtered = "";  // whose events the branch filters
    const loadEvents = () => { if (filtered !== key()) { filtered = key(); branch.value = ""; } loaded[EVENTS_AT] = key(); eventPages.said.say("Reading …"); return ask("events", { branch: branch.value, days: since.value }); };
    const events = table({ model, table: "events", key: "id", label: "events", height: 300, onOpen: openEvent, empty: "No events.", columns: [
      TIME, { key: "actor", width: "12%" }, { key: "session", width: "14%" },
      { key: "text" },
      { key: "metadata", name: "branch, metadata", width: "17%", show: (item) => [item.branch && `branch ${item.branch}`, item.metadata].filter(Boolean).join(" · ") }] });
    const eventPages = reader("events", loadEvents, events);
    const namespace = field("Namespace", { placeholder: "all namespaces" });
    const places = h("div", { class: "loom-row" });
    const strategy = select("Strategy", [["", "all"]]);
    const loadRecords = () => { loaded[RECORDS_AT] = key(); recordPages.said.say("Reading …"); return ask("records", { namespace: namespace.value, strategy: strategy.value }); };
    const shownRecord = [{ ...TEXT, name: "record" }, { key: "namespace", width: "20%" }, { key: "strategy", width: "12%" },
      { ...TIME, key: "created", name: "created" }, { key: "extractor", name: "extracted by", width: "10em" }];
    const records = table({ model, table: "records", key: "id", label: "records", height: 300, onOpen: openRecord, columns: shownRecord,
      empty: "No records. Strategies extract them some time after a turn; a memory without a strategy has none." });
    const recordPages = reader("records", loadRecords, records);

    // ---- search ----
    const query = field("Question", { placeholder: "What does Anna eat?" });
    query.classList.add("loom-wide");
    const where = field("Namespace", { placeholder: "all namespaces" });
    const top = field("At most", { ...NUM, value: 10, min: 1, max: 100 });
    const least = field("Minimum score", { ...NUM, value: 0, min: 0, max: 1, step: 0.05 });
    const hits = live();
    let result = [], searched = "";  // the results, and the actor whose records were searched
    const results = table({ rows: [], key: "id", label: "search results", height: 260, onOpen: openRecord, empty: "Search in plain words. The most similar records come first.", columns: [
      { key: "score", width: "9em", show: (item) => h("div", { class: "loom-lane" }, h("span", { class: "loom-bar", "aria-hidden": "true", style: { left: "3.4em", width: `calc(${Math.max(0, Math.min(1, item.score ?? 0))} * (100% - 3.6em))`, background: PALETTE[0] } }), formatNumber(item.score)) },
      ...shownRecord.filter((item) => item.key !== "created")] });
    const drawHits = () => {
      const good = result.filter((item) => (item.score ?? 0) >= Number(least.value || 0));
      results.rows(good);
      const left = result.length - good.length;
      hits.say((result.length && searched !== (state().actor ?? "") ? `Found among the records of ${searched || "all actors"}. ` : "") + (left ? `${formatNumber(good.length)} of ${formatNumber(result.length)} shown; ${formatNumber(left)} below the score ${left === 1 ? "is" : "are"} hidden.` : ""));
    };
    const search = async () => {
      const searchedMemory = state().memory, answer = await ask("search", { query: query.value, namespace: where.value, top_k: top.value, least: least.value });
      if (!answer || searchedMemory !== state().memory) return;
      [result, searched] = [answer.rows ?? [], answer.actor];
      drawHits();
    };
    query.control.addEventListener("keydown", (event) => { if (event.key === "Enter") search(); });
    least.control.addEventListener("input", drawHits);

    // ---- timeline, and the records that answers used ----
    const time = h("div");
    const loadTimeline = async () => {
      const shown = loaded[TIMELINE_AT], wanted = loaded[TIMELINE_AT] = key();
      if (!state().actor) return void refill(time, blank("Choose an actor at the top to see its events and the records extracted from them."));
      if (shown !== wanted) refill(time, row(button("Read again", loadTimeline)));
      const reply = await ask("timeline");
      if (!reply || wanted !== key()) return;
      refill(time, hint(`${formatNumber(reply.total)} events and records of ${reply.actor}${reply.drawn < reply.total ? `, the newest ${formatNumber(reply.drawn)} drawn` : ""}. ${reply.note}`),
        reply.lanes.length > 0 && laneChart(reply.lanes, `timeline of ${reply.actor}`),
        table({ model, table: "timeline", key: ["id", "what"], label: "timeline", height: 230, empty: "No events and no records of this actor.",
          onOpen: (item) => (item.what === "message" ? jump({ id: item.id, actor: reply.actor, session: item.session }) : openRecord(item)),
          columns: [TIME, { key: "what", width: "9em" }, { key: "lane", width: "24%" }, TEXT] }),
        reply.states > 0 && folded(`Stored state of the agent (${formatNumber(reply.states)})`,
          table({ model, table: "stored states", key: "id", label: "stored state of the agent", height: 160, columns: [TIME, TEXT],
            onOpen: (item) => jump({ id: item.id, actor: reply.actor, session: item.session }) })),
        row(button("Read again", loadTimeline)));
    };
    const agent = select("Agent");
    const uses = h("div");
    const answers = table({ model, table: "answers", key: "id", label: "answers of the agent", height: 170, empty: "No answers yet. Invoke an agent in the Test panel.",
      columns: [{ key: "at", name: "asked", kind: "time", width: "12em" }, { key: "prompt", name: "question" }, { key: "status", kind: "status", width: "8em" }],
      onOpen: async (item) => {
        const reply = await ask("used", { agent: agent.value, invocation: item.id });
        if (reply) refill(uses, p(reply.note), table({ rows: reply.rows, key: "id", label: "records in the answer's prompt", height: 200, onOpen: openRecord, empty: "No record of this memory was in its prompt.",
          columns: [{ key: "text", name: "record" }, { key: "where", width: "8em" }, { key: "confidence", width: "7em" }, { key: "because", width: "24%" }, { key: "namespace", width: "16%" }] }));
      } });
    const loadAnswers = async () => {
      loaded[ANSWERS_AT] = state().memory;
      const reply = await ask("answers", { agent: agent.value });
      if (reply) { agent.options(reply.agents, reply.agent); answers.reload(); refill(uses); }
    };
    agent.control.addEventListener("change", loadAnswers);

    const kept = Object.fromEntries(KEEPING.map((title) => [title, h("div", null, hint("Loading …"))]));
    const keeping = lazyPart(model, "keeping", [model, { MAIN, NUM, WORST, blank, certainty, figure, head, hint, p, small, stated, tab, verdict }, ask, { jump, openRecord }], (part) => {
      for (const title of KEEPING) refill(kept[title], part.tabs[title]);
      part.follow(state(), true);
    });
    /** Call `use` with the script of these tabs, if it was requested. */
    const withKeeping = async (use) => { const part = keeping.isAsked() && await keeping(); if (part) use(part); };

    // ---- all together ----
    const parts = tabs([
      ["Actors", h("div", { class: "loom-columns" }, actors, sessions)],
      ["Events", tab(row(branch, since, eventPages.bar), eventPages.said, events)],
      ["Records", tab(row(namespace, strategy, recordPages.bar), places, recordPages.said, records)],
      ["Search", tab(row(query, button("Search", search, MAIN)), row(where, top, least), hits, results)],
      ["Timeline", time],
      ["Used", tab(hint("Choose an answer to see which records of this memory were in its prompt, according to its trace."), row(agent), answers, uses)],
      ...Object.entries(kept),
    ], { label: "parts of the memory" });
    const fresh = () => {
      if (!state().memory) return;
      if (parts.at === EVENTS_AT && loaded[EVENTS_AT] !== key()) loadEvents();
      if (parts.at === RECORDS_AT && loaded[RECORDS_AT] !== key()) loadRecords();
      if (parts.at === TIMELINE_AT && loaded[TIMELINE_AT] !== key()) loadTimeline();
      if (parts.at === ANSWERS_AT && loaded[ANSWERS_AT] !== state().memory) loadAnswers();
    };
    for (const item of parts.querySelectorAll(":scope > [role=tabpanel]")) item.addEventListener("loom-shown", () => { close(); fresh(); });
    for (const node of Object.values(kept)) node.parentNode.addEventListener("loom-shown", () => keeping());

    memory.control.addEventListener("change", () => { close(); ask("choose_memory", { memory: memory.value }); });
    actor.control.addEventListener("change", () => pick({ actor: actor.value }));
    session.control.addEventListener("change", () => pick({ session: session.value }));
    branch.control.addEventListener("change", loadEvents);
    since.control.addEventListener("change", loadEvents);
    strategy.control.addEventListener("change", loadRecords);
    namespace.control.addEventListener("change", loadRecords);
    put(body, [labels, pickers, none, about, making, parts, detail]);

    /** Drop what the views of a former memory show. */
    const empty = () => {
      for (const item of Object.keys(loaded)) delete loaded[item];
      withKeeping((part) => part.empty());
      for (const pages of [eventPages, recordPages]) pages.show({ count: 0 });
      close();
      refill(time);
      refill(uses);
      result = [];
      drawHits();
    };
    let shownMemory = null, shownActor = "";
    body.keep(onState(model, "state", () => {
      const now = state(), known = now.memories ?? [], reply = now.about ?? {};
      const named = (list, chosen) => (chosen && !list.includes(chosen) ? [chosen, ...list] : list);
      labels.textContent = (now.labels ?? []).join(" · ");
      labels.hidden = !labels.textContent;
      none.hidden = known.length > 0;
      refill(none, (now.teach ?? []).map((item, at) => p(at ? item : h("strong", null, item))));
      parts.hidden = about.hidden = !now.memory;
      pickers.hidden = !known.length;
      memory.options(known.map(([id, called, status]) => [id, status === "ACTIVE" ? called : `${called} (${status.toLowerCase()})`]), now.memory);
      const people = named(now.actors ?? [], now.actor), rest = (now.actors_total ?? 0) - people.length;
      actor.options([["", `all actors (${formatNumber(now.actors_total ?? 0)}${now.actors_cut ? "+" : ""})`], ...people, ...(rest > 0 ? [["", `… ${formatNumber(rest)} more under Actors`]] : [])], now.actor ?? "");
      session.options([["", now.actor ? `all (${formatNumber(now.sessions_total ?? 0)}${now.sessions_cut ? "+" : ""})` : "choose an actor first"], ...named(now.sessions ?? [], now.session)], now.session ?? "");
      session.control.disabled = !now.actor;
      const isOther = shownMemory !== reply.id;
      withKeeping((part) => part.follow(now, isOther));
      if (isOther) {
        if (shownMemory !== null) empty();
        shownMemory = reply.id;
        strategy.options([["", "all"], ...(reply.strategies ?? []).map(([item]) => item)], "");
        namespace.value = "";
        refill(places, [...new Set((reply.strategies ?? []).flatMap(([, , list]) => list))].map((item) => button(item, () => { namespace.value = item; where.value = item; loadRecords(); })));
        const list = reply.strategies ?? [];
        making.open = !reply.id;
        refill(about, reply.id && [
          h("summary", null, statusDot(reply.status), ` · ${list.length ? `extracts ${list.map(([called]) => called).join(", ")}` : "no strategy: events are stored, nothing is extracted"}`
            + `${reply.expiry ? ` · events expire after ${reply.expiry} days` : ""}${reply.failure ? ` · ${reply.failure}` : ""}`),
          facts([["id", `${reply.id} · ${reply.region}`], ...list.map(([called, kind, item]) => [called === kind ? kind : `${called} (${kind})`, item.join(", ")])])]);
      }
      if (shownActor !== (now.actor ?? "")) { shownActor = now.actor ?? ""; drawHits(); }
      if (parts.at !== undefined) fresh();
    }));
    body.keep(onState(model, "busy", () => { halt.disabled = !model.get("busy"); }));
    body.keep(onMessage(model, "people", () => { actors.reload(); sessions.reload(); }));
    body.keep(onMessage(model, "read", (reply) => {
      if (reply.what === "events") { eventPages.show(reply); branch.options([["", "all"], ...new Set([...reply.branches, branch.value].filter(Boolean))]); } else recordPages.show(reply);
    }));
    const again = async (reply) => {
      const found = Object.entries(reply?.found ?? {}), part = found.length > 0 && await keeping();
      if (part) for (const [item, value] of found) part.shows[item]?.(value);
    };
    body.keep(onMessage(model, "memory", (reply) => {
      empty();
      again(reply);
      fresh();
    }));
    ask("hello").then(again);
  }),
};
