// A memory: actors, their sessions, events, extracted records, and search.

const AT = { key: "at", name: "when", kind: "time", width: "12em" };
/** The statement in a preference's JSON; other texts unchanged. */
const stated = (text) => { try { return JSON.parse(text).preference ?? text; } catch { return text; } };
const RECORD = { key: "text", name: "record", width: "30em", show: (item) => short(calm(stated(item.text)), 400) };

export default {
  render: (given) => shown(given, (body, model, first) => {
    const state = () => model.get("state") ?? {};
    const about = first.about;
    const people = h("div"), detail = h("div", { "aria-live": "off" });
    const open = (...children) => { refill(detail, ...children); detail.scrollIntoView?.({ block: "nearest" }); };
    const choose = (form) => act(model, "choose", { actor: state().actor ?? "", session: "", ...form });

    const openEvent = async (row) => {
      const event = (await act(model, "event", { id: row.id }))?.event;
      if (event) open(card("Event", {}, facts([["when", formatTime(event.at)], ["actor", event.actor], ["session", event.session], event.branch && ["branch", event.branch], ["event id", event.id],
        ...event.metadata].filter(Boolean)), event.messages.map(([role, text]) => [h("strong", null, role.toLowerCase()), block(role.toLowerCase(), text)])));
    };
    const openRecord = async (row) => {
      const record = (await act(model, "record", { id: row.id }))?.record;
      if (!record) return;
      const from = h("div");
      open(card("Record", {}, block("the record", record.text), facts([["namespace", record.namespace], ["strategy", record.strategy || "none"], ["created", formatTime(record.created)],
        record.extractor && ["extracted by", record.extractor], ["record id", record.id], ...(record.metadata ?? [])].filter(Boolean)),
      h("div", { class: "loom-row" }, button("Show the source", async () => {
        const result = await act(model, "provenance", { id: record.id });
        if (result?.sentence) refill(from, h("p", null, statusDot(result.state.replaceAll("_", " "), result.state === "stated" ? "good" : "wait"), " ", result.sentence),
          table({ rows: result.rows, label: "sources of this record", height: 180, empty: "No source found.", columns: [
            { key: "certainty", width: "7em" }, { key: "score", kind: "score", width: "5em" }, { key: "excerpt", width: "26em" }, AT, { key: "session", width: "12em" }] }));
      })), from));
    };

    const events = table({ model, table: "events", given: { rows: [], total: 0 }, label: "events", onOpen: openEvent, empty: "No events have been read yet, or there are none.", columns: [
      AT, { key: "actor", width: "9em" }, { key: "session", width: "10em" }, { key: "role", width: "8em" }, { key: "text", width: "30em", show: (item) => short(calm(item.text), 400) },
      { key: "metadata", width: "12em" }] });
    const records = table({ model, table: "records", given: { rows: [], total: 0 }, label: "records", onOpen: openRecord, empty: "No records have been read yet, or there are none.", columns: [
      RECORD, { key: "namespace", width: "16em" }, { key: "strategy", width: "9em" }, { ...AT, key: "created", name: "created" }] });
    const reader = (what, list) => {
      const said = live({ class: "loom-hint" });
      const more = button("Read more", () => act(model, "more", { what, count: 10000 }), { hidden: true });
      const read = button(`Read the ${what}`, () => act(model, what));
      const node = h("div", null, h("div", { class: "loom-row" }, read, more, said), list);
      node.show = ({ count, whole }) => { more.hidden = whole; said.say(`${formatNumber(count)} read${whole ? " (all)" : "; there are more"}.`); list.reload(); };
      return node;
    };
    const readers = { events: reader("events", events), records: reader("records", records) };

    const query = field("Question", { placeholder: "What does Anna eat?" }), hits = live({ class: "loom-hint" });
    query.classList.add("loom-wide");
    const result = table({ rows: [], label: "search results", onOpen: openRecord, empty: "Search in plain words. The most similar records come first.", columns: [
      { key: "score", kind: "score", width: "6em" }, RECORD, { key: "namespace", width: "16em" }, { key: "strategy", width: "9em" }] });
    const search = async () => {
      const answer = await act(model, "search", { query: query.value });
      if (!answer?.rows) return;
      result.rows(answer.rows);
      hits.say(answer.rows.length ? `${formatNumber(answer.rows.length)} found.` : "No record was found.");
    };
    query.control.addEventListener("keydown", (event) => { if (event.key === "Enter") search(); });

    const draw = () => {
      const now = state();
      const names = now.actors ?? [], sessions = now.sessions ?? [];
      refill(people, now.actors ? h("div", { class: "loom-columns" },
        table({ model, table: "actors", given: { rows: names.slice(0, 100).map((actor) => ({ actor })), total: now.actors_total }, label: "actors", height: 180, onOpen: (item) => choose({ actor: item.actor }),
          columns: [{ key: "actor" }], empty: "No actors yet." }),
        h("div", null, table({ model, table: "sessions", given: sessions.length > 100 ? null : { rows: sessions.map((session) => ({ session })), total: sessions.length }, label: "sessions of the actor", height: 180, onOpen: (item) => choose({ session: item.session }),
          columns: [{ key: "session" }], empty: "Choose an actor to see its sessions." })))
        : hint("Reading the actors …"),
      now.actor && h("p", null, h("strong", null, "Of "), calm(now.actor), now.session && `, session ${calm(now.session)}`, " ", button("all actors", () => choose({ actor: "" }), { class: "loom-quiet" })));
    };
    put(body, [
      h("p", null, statusDot(about.status.toLowerCase(), about.status === "ACTIVE" ? "good" : about.status === "FAILED" ? "bad" : "wait"), h("span", { class: "loom-hint" }, ` ${first.labels.join(" · ")} · ${about.id}`)),
      about.failure && h("p", null, about.failure),
      about.strategies.length ? folded(`${about.strategies.length} ${about.strategies.length === 1 ? "strategy" : "strategies"}`, plainTable("strategies", { head: ["strategy", "kind", "namespaces"], rows: about.strategies.map(([name, kind, places]) => [name, kind, places.join(", ")]) }))
        : hint("No strategy: events are stored, nothing is extracted."),
      people,
      tabs([["Events", readers.events], ["Records", readers.records], ["Search", h("div", null, h("div", { class: "loom-row" }, query, button("Search", search, { kind: "main" }), hits), result)]], { label: "parts of the memory" }),
      detail,
    ]);
    let drawn = "";
    body.keep(onState(model, "state", () => {
      const { actors, actor, session, sessions } = state(), now = JSON.stringify([actors, actor, session, sessions]);
      if (now !== drawn) { drawn = now; draw(); }
    }));
    body.keep(onMessage(model, "read", (reply) => readers[reply.what]?.show(reply)));
  }),
};
