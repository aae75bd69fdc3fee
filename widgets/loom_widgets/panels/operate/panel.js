// Operate: the figures on top, then agents, regions and accounts, and alerts; the details of an opened agent are below.

const KINDS = { alarm: "bad", ok: "good", failed: "bad" };
const EVERY_S = 15;

/** `312 ms [305–321]` as a large number with its interval below; a sentence stays as it is. */
function figure({ title, value, note, observed }) {
  [value, note, observed] = [value, note, observed].map(unbroken);
  const isNumber = observed || /^[\d$<–]|^at least/.test(value);
  const cut = isNumber ? value.search(/ \[|, /) : -1;
  const [large, interval] = observed ? [observed, value] : cut > 0 ? [value.slice(0, cut), value.slice(cut + 1).trim()] : [value, ""];
  return h("div", { class: "loom-box loom-tile", style: { margin: 0 } },
    h("div", { class: "loom-hint" }, title),
    h("div", { class: observed ? "loom-few" : null, style: isNumber ? { "font-size": "17px", "font-weight": 600, "font-variant-numeric": "tabular-nums" } : {} }, large),
    interval && h("div", { class: "loom-hint" }, interval),
    note && h("div", { class: "loom-hint" }, note));
}
const figures = (list) => h("div", {
  class: "loom-figures", role: "group", "aria-label": "numbers", style: { "grid-template-columns": "repeat(auto-fit, minmax(max(9.6em, 22%), 1fr))", margin: "6px 0" },
}, list.map(figure));
const failuresOf = (failures) => {
  const list = Object.entries(failures ?? {});
  return list.length ? h("p", null, h("strong", null, "Failed calls by kind: "), list.map(([name, n]) => `${name} ${formatNumber(n)}`).join(" · ")) : null;
};
/** A column that shows a number with its interval, and sorts by the number. */
const figureColumn = (key, name, width) => ({ key, name, width, show: (row) => {
  const text = unbroken(row.said?.[key]) ?? "–";
  const observed = unbroken(row.observed?.[key]);  // of too few calls for an estimate: shown faintly, with the reason as its title
  return h("span", { title: text, class: row[key] === null ? "loom-hint" : "" }, observed ?? text.replace(/ \(n = .*/, "").replace("no known cost", "unknown"));
} });
const NUMBERS = [
  { key: "invocations", name: "invocations", kind: "number", width: "8.2em" },
  figureColumn("cold_start_mean_ms", "average cold start", "13.8em"), figureColumn("cold_start_p90_ms", "p90 cold start", "13.8em"),
  figureColumn("error_rate", "error rate", "11em"), figureColumn("cost", "cost", "14em"),
];
const wide = (node, px) => { node.querySelector("table").style.setProperty("min-width", `${px}px`); return node; };

/** The details of one agent; `.fill(reply)` shows them. */
function details(model, { again, leave }) {
  const head = h("div"), tiles = h("div"), latency = h("div"), problem = h("p", { class: "loom-empty" });
  const sessions = wide(table({
    model, table: "sessions", key: ["session_id", "qualifier"], label: "sessions of the agent", empty: "No sessions in this time range.",
    columns: [
      { key: "session_id", name: "session", width: "34%" }, { key: "qualifier", name: "qualifier" }, { key: "invocations", name: "asked", kind: "number", width: "5em" },
      { key: "failed", name: "failed", kind: "number", width: "5em" }, { key: "first_call", name: "first", kind: "time", width: "13em" },
      { key: "last_done", name: "last", kind: "time", width: "13em" }, { key: "cold_start_ms", name: "cold start", kind: "ms", width: "7em" },
    ],
  }), 900);
  const line = h("pre", { hidden: true, tabindex: 0, "aria-label": "selected line" });
  const logs = table({
    model, table: "logs", key: ["timestamp", "message"], label: "recent log lines of the agent", empty: "No log lines in this time range.",
    onOpen: (row) => { line.hidden = false; line.textContent = row.message ?? ""; },
    columns: [{ key: "timestamp", name: "time", kind: "time", width: "13em" }, { key: "level", name: "level", width: "6em" }, { key: "message", name: "message" }],
  });
  const bins = wide(table({
    rows: [], key: "start", label: "latency over time", height: 200, empty: "No calls in this time range.",
    columns: [
      { key: "start", name: "from", kind: "time", width: "13em" }, { key: "n", name: "calls", kind: "number", width: "5em" },
      { key: "failed", name: "failed", kind: "number", width: "5em" }, figureColumn("p50_ms", "median"), figureColumn("p90_ms", "p90"),
    ],
  }), 620);
  const charts = h("div");
  put(latency, [charts, bins]);
  const qualifier = select("Qualifier");
  qualifier.control.addEventListener("change", () => again({ qualifier: qualifier.value }));
  const parts = tabs([
    ["Numbers", tiles], ["Latency over time", latency], ["Sessions", sessions], ["Recent logs", h("div", null, problem, logs, line)],
  ], { label: "details of the agent" });
  const node = h("section", { class: "loom-box", "aria-label": "selected agent", hidden: true }, head, parts);
  let shown = "", logged = "";
  node.fill = (reply) => {
    node.hidden = !reply || !reply.arn;
    if (node.hidden) { shown = ""; return; }
    const fresh = shown !== reply.arn;
    shown = reply.arn;
    qualifier.options(reply.qualifiers, reply.qualifier);
    if (fresh || !head.firstChild) {
      refill(head, h("div", { class: "loom-row", style: { "justify-content": "space-between", margin: 0 } },
        h("h4", null, reply.name), h("div", { class: "loom-row", style: { margin: 0 } }, reply.qualifiers.length > 1 && qualifier, button("Close", leave))), h("p"));
    }
    if (fresh || logged !== reply.qualifier) line.hidden = true;
    logged = reply.qualifier;
    head.lastChild.textContent = unbroken(`${reply.endpoints} · ${reply.window} · ${reply.sentence}`);
    refill(tiles, figures(reply.headlines), failuresOf(reply.failures),
      facts(Object.entries(reply.metadata).map(([key, value]) => [key, key === "status" ? statusDot(value) : value])));
    const seconds = (text) => new Date(text).getTime() / 1000;
    const known = (key) => reply.bins.filter((bin) => bin[key] !== null).map((bin) => [seconds(bin.start), bin[key]]);
    const lines = [{ name: "median", points: known("p50_ms") }, { name: "p90", points: known("p90_ms") }].filter((item) => item.points.length);
    const open = [...charts.querySelectorAll("details")].map((item) => item.open);
    refill(charts,
      chart.dots({
        title: reply.calls_title, series: [{ name: "duration", points: reply.calls.map(([at, took]) => [seconds(at), took]) }],
        x: { name: "time of the call", kind: "time" }, y: { name: "duration", kind: "ms" }, empty: "No complete calls in this time range.",
      }),
      lines.length ? chart.line({ title: "Median and p90 (where there are enough calls)", series: lines, x: { name: "from", kind: "time" }, y: { name: "duration", kind: "ms" } }) : null);
    if (!fresh) charts.querySelectorAll("details").forEach((item, i) => { item.open = open[i] ?? false; });
    bins.hidden = !reply.bins.length;
    bins.rows(reply.bins.filter((bin) => bin.n).reverse());
    problem.hidden = !reply.logs_problem;
    problem.textContent = reply.logs_problem ?? "";
    sessions.reload();
    logs.reload();
  };
  return node;
}

/** The alerts: list, add, remove, check, history. */
function alerting(model) {
  const said = h("p", { class: "loom-hint" });
  const one = h("div");
  const place = () => Number(model.get("state").place);
  let listed = place();
  const list = wide(table({
    model, table: "alerts", key: "alert", label: "alerts", height: 220, empty: "No alerts yet. In code: bench.alerts.add(\"error_rate\", above=0.05, min_n=20).",
    onOpen: (row) => open(row),
    columns: [
      { key: "state", name: "state", width: "9em", show: (row) => statusDot(row.state, KINDS[row.state] ?? "wait") }, { key: "alert", name: "alert", width: "30%" },
      { key: "sentence", name: "reason", show: (row) => h("span", { title: row.sentence }, short(row.sentence, 300)) },
      { key: "checked_at", name: "checked", kind: "time", width: "13em" }, { key: "notify", name: "notifies", width: "8em", show: (row) => short(row.notify || "no one", 60) },
    ],
  }), 820);
  const history = wide(table({
    model, table: "history", key: ["at", "alert", "kind"], label: "history of the alerts", height: 220, empty: "No alert history yet. State changes and sent notifications are listed here.",
    columns: [
      { key: "at", name: "when", kind: "time", width: "13em" }, { key: "alert", name: "alert", width: "26%" }, { key: "kind", name: "what", width: "7em" },
      { key: "state", name: "state", width: "9em", show: (row) => statusDot(row.state, KINDS[row.state] ?? "wait") },
      { key: "sentence", name: "why", show: (row) => h("span", { title: row.sentence }, short(row.sentence, 300)) },
    ],
  }), 820);
  const notify = checkbox("Send notifications to the configured addresses");
  const number = select("Number"), side = select("Is", ["above", "below"]), limit = field("Limit", { type: "number", min: 0, step: "any" });
  const agent = select("Of"), hours = select("Over", [["1", "the last hour"], ["24", "24 hours"], ["168", "7 days"]]), least = field("Minimum calls", { type: "number", min: 1, value: 20 });
  const recipient = field("Notify", { placeholder: "no one" }), called = field("Name", { placeholder: "default: the rule" });
  const unit = () => { limit.querySelector("label").textContent = `Limit (${(model.get("state").numbers ?? []).find(([name]) => name === number.value)?.[2] ?? ""})`; };
  number.control.addEventListener("change", unit);
  hours.value = "24";
  const add = async () => {
    if (limit.value === "") return void limit.control.focus();
    const made = await act(model, "add_alert", {
      place: place(), number: number.value, side: side.value, limit: limit.value, agent: agent.value, hours: hours.value, min_n: least.value, notify: recipient.value, name: called.value,
    });
    if (made) { limit.value = ""; called.value = ""; }
  };
  for (const item of [limit, least, recipient, called]) item.control.addEventListener("keydown", (event) => { if (event.key === "Enter") add(); });
  const open = (row) => refill(one, card(row.alert, {},
    h("p", null, statusDot(row.state, KINDS[row.state] ?? "wait"), " ", row.sentence),
    facts([["rule", row.rule], ["of", row.agent], ["over", `${formatNumber(row.window_s / 3600)}\u00a0h`], ["minimum calls", formatNumber(row.min_n)], ["notifies", row.notify || "no one"],
      ["in this state since", formatTime(row.since)], ["checked", formatTime(row.checked_at)]]),
    h("div", { class: "loom-row" },
      confirmButton("Remove", "Remove this alert? Its history is kept.", async () => { if (await act(model, "remove_alert", { alert: row.alert, place: row.place })) one.replaceChildren(); }, { kind: "danger" }),
      button("Close", () => one.replaceChildren()))));
  const node = h("div", null,
    h("div", { class: "loom-row" }, button("Check now", () => act(model, "check_alerts", { place: place(), notify: notify.value })), notify, said), list, one,
    h("details", { class: "loom-more" }, h("summary", null, "Add an alert"),
      h("div", { class: "loom-row" }, number, side, limit, agent, hours, least),
      h("div", { class: "loom-row" }, recipient, called, button("Add the alert", add, { kind: "main" })),
      h("p", { class: "loom-hint" }, "An alert fires when the whole 95\u00a0% interval is beyond the limit. Notify takes names such as team. The address itself is a secret: set "
        + "the environment variable LOOM_ALERT_URL_TEAM, or [alerts] in loom.toml. To check on a schedule, run `loom alerts check`.")),
    h("h4", { style: { "margin-top": "10px" } }, "History"), history);
  node.update = (state) => {
    if (listed !== place()) one.replaceChildren();  // the opened alert is of another workbench
    listed = place();
    said.textContent = state.alerts?.sentence ?? "";
    if (!number.value) number.options((state.numbers ?? []).map(([name, title]) => [name, title]), "error_rate");
    agent.options([["", "all agents"], ...(state.agents ?? [])], agent.value);
    unit();
  };
  node.reload = () => { list.reload(); history.reload(); };
  return node;
}

export default {
  render: (given) => panel(given, (body, model) => {
    const place = select("Workbench"), range = select("Time"), since = field("From", { type: "datetime-local" }), until = field("Until", { type: "datetime-local" });
    const halt = button("Stop", () => stop(model, "catch up"), { hidden: true });
    const catchUp = button("Look up now", async () => {
      halt.hidden = false;
      await act(model, "catch_up", form());
      halt.hidden = true;
    });
    const auto = checkbox(`refresh every ${EVERY_S}\u00a0s`);
    const taken = h("p", { class: "loom-hint" }), tiles = h("div"), missing = h("span", { class: "loom-hint" }), gaps = h("div", { class: "loom-row" }, missing, catchUp, halt), failures = h("div");
    const compared = h("p", { class: "loom-hint" });
    const places = wide(table({
      model, table: "places", key: ["where", "account", "region"], label: "regions and accounts", empty: "No comparison yet.",
      columns: [
        { key: "state", name: "state", width: "9.5em", show: (row) => statusDot(row.state, KINDS[row.state] ?? "wait") }, { key: "where", name: "where", width: "5.5em" }, { key: "account", name: "account", width: "10em" },
        { key: "region", name: "region", width: "9em" }, { key: "agents", name: "agents", kind: "number", width: "6em" }, ...NUMBERS,
        { key: "why", name: "why", width: "20em", show: (row) => h("span", { title: row.why ?? "" }, short(row.why || "–", 300)) },
      ],
    }), 1300);
    const agents = wide(table({
      model, table: "agents", key: "runtime_id", label: "agents and their numbers", height: 312,
      empty: "No agents yet. Deploy one with bench.deploy(\"calculator\") or in the Build panel.", onOpen: (row) => drill({ agent: row.runtime_id, qualifier: "" }),
      columns: [
        { key: "agent", name: "agent" }, { key: "status", name: "status", kind: "status", width: "7em" }, ...NUMBERS, { key: "region", name: "region", width: "8em" },
      ],
    }), 1080);
    let opened = null, refreshing = false, newest = 0;

    const moment = (control) => control.value ? new Date(control.value).toISOString() : "";
    const local = (text) => {
      const at = new Date(text);
      return new Date(at.getTime() - at.getTimezoneOffset() * 60000).toISOString().slice(0, 16);
    };
    const form = () => ({
      place: Number(place.value || 0), range: range.value || "all",
      ...(range.value === "between" ? { since: moment(since), until: moment(until) } : {}),
    });
    // A quiet refresh keeps the sentence and the code of the user's last action.
    const look = async (quiet = false) => {
      refreshing = true;
      await act(model, "load", { ...form(), quiet });
      if (view.at === 1) await compare(quiet);
      refreshing = false;
    };
    const drill = (what) => act(model, "drill", { ...form(), ...what });
    const compare = (quiet = false) => act(model, "compare", { ...form(), quiet });
    // Created when first opened.
    const detailPlace = h("div"), alertPlace = h("div");
    let detail = null, alerts = null;
    const beside = h("div", null, compared, places,
      h("p", { class: "loom-hint" }, "To compare regions or accounts, open the panel with loom_widgets.operate(bench, beside=[loom.connect(\"aws\", region=\"eu-central-1\")])."));
    const view = tabs([["Agents", h("div", null, agents, detailPlace)], ["Regions and accounts", beside], ["Alerts", alertPlace]], { label: "views of the panel" });
    beside.parentNode.addEventListener("loom-shown", () => compare());
    alertPlace.parentNode.addEventListener("loom-shown", () => {
      if (alerts) return;
      alertPlace.append(alerts = alerting(model));
      alerts.update(model.get("state"));
    });

    for (const item of [place, range, since, until]) {
      item.control.addEventListener("change", () => {
        since.hidden = until.hidden = range.value !== "between";
        look();
      });
    }
    auto.control.addEventListener("change", () => act(model, "auto", { seconds: auto.value ? EVERY_S : 0 }));
    const timer = setInterval(() => {
      // Skip this while the view is hidden, or if another view has just requested it.
      if (!auto.value || document.hidden || refreshing || Date.now() - newest < EVERY_S * 900) return;
      newest = Date.now();
      look(true);
    }, 1000);
    body.keep(() => clearInterval(timer));

    put(body, [
      h("div", { class: "loom-row" }, place, range, since, until, button("Refresh", () => look()), auto), taken, tiles, failures, gaps, view,
    ]);
    body.keep(onState(model, "state", () => {
      const state = model.get("state");
      place.options(state.places ?? [], state.place);
      place.hidden = (state.places ?? []).length < 2;
      range.options(state.ranges ?? [], state.range);
      since.hidden = until.hidden = range.value !== "between";
      for (const [item, kept] of [[since, state.since], [until, state.until]]) if (kept && !item.value) item.value = local(kept);
      auto.value = state.auto_s > 0;
      taken.textContent = [...(state.labels ?? []), state.window, state.taken_at ? `read ${formatTime(state.taken_at)}` : "", "95\u00a0% intervals in brackets"].filter(Boolean).join(" · ");
      refill(tiles, state.headlines?.length ? figures(state.headlines) : null);
      agents.hidden = !state.taken_at;
      refill(failures, failuresOf(state.failures));
      gaps.hidden = !state.missing && !state.caught;
      catchUp.hidden = !state.missing;
      missing.textContent = [state.missing ? `Not looked up yet: ${state.missing}.` : "", state.caught ?? ""].filter(Boolean).join(" ");
      compared.textContent = state.compared ?? "";
      alerts?.update(state);
    }));
    body.keep(onMessage(model, "overview", () => { newest = Date.now(); agents.reload(); }));
    body.keep(onMessage(model, "places", () => places.reload()));
    body.keep(onMessage(model, "alerts", () => alerts?.reload()));
    const filled = (reply) => {
      opened = reply?.arn ? reply : null;
      if (opened && !detail) detailPlace.append(detail = details(model, { again: (what) => drill({ agent: opened.arn, ...what }), leave: () => act(model, "leave") }));
      detail?.fill(opened);
    };
    body.keep(onMessage(model, "detail", filled));
    act(model, "hello").then(filled);
  }),
};
