// Evaluate: run a set, follow it, inspect cases, compare two runs, create cases from invocations.

export default {
  render: (given) => panel(given, (body, model) => {
    // ---- the form of a run ----
    const set = select("Set"), path = field("Path of the eval set", { placeholder: "orders.evalset.json" });
    const tags = field("Only with tags", { placeholder: "all cases" });
    const setSaid = live({ class: "loom-hint" });
    const agents = h("div", { class: "loom-row", role: "group", "aria-label": "Agents" });
    const judges = field("Evaluators", { placeholder: "default: by the set's expectations" });
    const known = select("Add an evaluator", [], { style: { width: "14em" } });
    const repeats = field("Repeats", { type: "number", min: 1, max: 1000, value: 1 });
    const gate = field("Gate", { placeholder: "no gate", style: { width: "17em" } });
    const money = field("US dollars", { type: "number", min: 0, step: "any", placeholder: "no limit" });
    const tokens = field("Tokens", { type: "number", min: 0, placeholder: "no limit" });
    const seconds = field("Seconds", { type: "number", min: 0, step: "any", placeholder: "no limit" });
    const reuse = checkbox("Reuse stored answers", { checked: true });
    const begin = button("Run", () => run(), { kind: "main" });
    const halt = button("Stop", () => stop(model, "run"), { disabled: true });
    const bar = h("progress", { max: 1, value: 0, "aria-label": "answered", style: { width: "100%", height: "10px" } });
    const barSaid = h("p", { class: "loom-hint", "aria-live": "off" });
    const moving = h("div", { hidden: true }, bar, barSaid);
    const ticks = new Map();
    path.hidden = true;
    path.classList.add("loom-wide");
    judges.classList.add("loom-wide");
    const form = () => ({
      set: set.value, path: path.value, tags: tags.value, agents: [...ticks].filter(([, tick]) => tick.value).map(([name]) => name),
      evaluators: judges.value, repeats: repeats.value, gate: gate.value, money: money.value, tokens: tokens.value, time_s: seconds.value, reuse: reuse.value,
    });
    let blueprint = "";
    const lookSet = async () => {
      path.hidden = !set.value.startsWith("file:");
      if (!path.hidden && !path.value) return void setSaid.say("A file in Loom's JSON format, JSON lines, CSV, or the format of ADK, strands_evals or AgentCore.");
      const result = await act(model, "show_set", form());
      blueprint = result?.blueprint ?? "";
      setSaid.say(result ? [result.sentence, result.description, ...(result.notes ?? [])].filter(Boolean).join(" ") : "");
      if (result?.tags?.length) tags.control.setAttribute("placeholder", result.tags.slice(0, 4).join(", "));
      drawAgents();
    };
    const running = (yes) => { begin.disabled = yes || ticks.size === 0; halt.disabled = !yes; moving.hidden = !yes; };
    const run = async (name = "run", what = form()) => {
      running(true);
      bar.removeAttribute("value");
      barSaid.textContent = "Starting …";
      if (name === "resume") parts.open(0);
      const result = await act(model, name, what);
      running(false);
      if (result) parts.open(result.runs?.length > 1 ? 2 : 1);  // a stopped run has its button Resume there
    };
    const drawAgents = () => {
      const names = model.get("state").agents ?? [];
      const before = new Map([...ticks].map(([name, tick]) => [name, tick.value]));
      ticks.clear();
      for (const name of names) ticks.set(name, checkbox(short(name, 60), { checked: before.get(name) ?? (name === blueprint || names.length === 1) }));
      refill(agents, h("strong", null, "Agents"), ...ticks.values(), names.length === 0 && [
        h("span", { class: "loom-empty" }, "No agents yet. Deploy one with bench.deploy(…) or in the Build panel."),
        blueprint && button(`Deploy ${blueprint}`, (event) => { event.target.disabled = true; act(model, "deploy", { blueprint }); }),
      ]);
      if (halt.disabled) begin.disabled = names.length === 0;
    };
    set.control.addEventListener("change", lookSet);
    path.control.addEventListener("change", lookSet);
    tags.control.addEventListener("change", lookSet);
    judges.control.addEventListener("change", lookSet);
    known.control.addEventListener("change", () => {
      if (!known.value) return;
      judges.value = [judges.value, known.value].filter(Boolean).join(", ");
      known.value = "";
      lookSet();
    });
    const asking = h("div", null,
      h("div", { class: "loom-row" }, set, path, tags), setSaid, agents,
      h("div", { class: "loom-row" }, judges, known, repeats, gate),
      h("p", { class: "loom-hint" }, "Separate evaluators and gates by commas: trajectory:any_order, rouge1(threshold=0.8). A gate is the lowest pass rate that is accepted, such as trajectory>=95%."),
      reuse,
      fold("Limits", h("p", { class: "loom-hint" }, "A run that reaches a limit stops. Its answers are stored, and it can be resumed."),
        h("div", { class: "loom-row" }, money, tokens, seconds)),
      h("div", { class: "loom-row" }, begin, halt), moving);

    // ---- the results of a run ----
    const head = h("div"), table0 = h("div"), detail = h("div", { "aria-live": "off" });
    const state = select("State"), tag = select("Tag"), text = field("Search", { placeholder: "case or question" });
    const shown = live({ class: "loom-hint" });
    let open = null, cases = null;
    const applyFilter = async () => {
      const result = await act(model, "filter", { state: state.value, tag: tag.value, text: text.value });
      if (!result) return;
      shown.say(result.shown === result.of ? cases_(result.of) : `${formatNumber(result.shown)} of ${formatNumber(result.of)} cases`);
      cases?.reload();
    };
    for (const item of [state, tag, text]) item.control.addEventListener("change", applyFilter);
    const openCase = async (row) => {
      const result = await act(model, "case", { run: open.run, place: row.place, repeat: row.repeat });
      if (result?.case !== undefined) refill(detail, caseView(model, result, row.case));
    };
    const showRun = (result) => {
      if (!result?.run) return;
      const changed = open?.run !== result.run;
      open = result;
      const unfinished = result.state !== "complete";
      refill(head,
        h("h4", null, `${result.target} on ${result.set}`),
        h("p", null, dot(result.state), ` ${formatNumber(result.answered)} of ${formatNumber(result.total)} answered`, result.reason && `: ${result.reason}`,
          h("span", { class: "loom-hint" }, ` · ${[result.name, formatTime(result.created_at), result.run, ...result.labels].filter(Boolean).join(" · ")}`)),
        list(result.sentences), gateLines(result.gates),
        unfinished && h("div", { class: "loom-row" }, button("Resume", () => run("resume", { run: result.run })), h("span", { class: "loom-hint" }, "Runs only the cases that are still pending.")));
      const counted = Object.entries(result.states);
      state.options([["", `all (${formatNumber(result.answered)})`], ...counted.map(([word, count]) => [word, `${word} (${formatNumber(count)})`])], "");
      tag.options([["", "all tags"], ...result.tags], "");
      state.value = ""; tag.value = ""; text.value = "";
      shown.say(cases_(result.answered));
      if (!changed) return cases.reload();
      const names = result.evaluators.slice(0, 4);
      cases = table({
        model, table: "cases", key: ["place", "repeat"], label: "cases of this run", onOpen: openCase, height: 340, empty: "No case matches.",
        columns: [
          { key: "case", name: "case", width: "20%" }, { key: "state", name: "state", width: "8.5em", show: (row) => dot(row.state) },
          ...names.map((name, at) => ({ key: `e${at}`, name, show: (row) => score(row[`e${at}`], row[`w${at}`]) })),
          { key: "duration_ms", name: "took", kind: "ms", width: "5.4em" }, { key: "ttft_ms", name: "TTFT", kind: "ms", width: "5.4em" },
          { key: "tokens", name: "tokens", kind: "number", width: "5.4em" }, { key: "cost", name: "cost", width: "6.6em", show: (row) => formatMoney(row.cost) },
        ],
      });
      refill(table0, h("div", { class: "loom-row" }, state, tag, text, shown), cases,
        result.evaluators.length > 4 && h("p", { class: "loom-hint" }, `The table shows the first four of ${result.evaluators.length} evaluators. Open a case to see all of them.`),
        h("p", { class: "loom-hint" }, "Press Enter or click to open a row. ✓ passed, ▼ low score, ? the judge failed. Cases that failed to run or to be scored are excluded from averages and counted separately."));
      refill(detail);
    };
    const results = h("div", null, h("p", { class: "loom-empty" }, "No run is open. Run an eval set, or open a stored run."));

    // ---- two runs ----
    const newer = select("New run"), older = select("Baseline"), margin = field("Margin (points)", { type: "number", min: 0, step: "any", value: 2 });
    const verdict = h("div", null, h("p", { class: "loom-empty" }, "Choose two runs of the same cases. The verdict is shown first, then the cases with different outcomes."));
    const compare = button("Compare", () => act(model, "compare", { new: newer.value, baseline: older.value, margin: margin.value }), { kind: "main" });
    const showCompared = (result) => {
      if (!result?.headline) return;
      newer.value = result.new; older.value = result.baseline;
      const sides = h("div");
      const flips = table({
        model, table: "flips", key: ["place", "evaluator"], label: "cases with different outcomes", empty: "All cases have the same outcome.", height: 240,
        onOpen: async (row) => {
          const both = await act(model, "flip", { new: result.new, baseline: result.baseline, place: row.place, case: row.case, evaluator: row.evaluator, verdict: row.verdict });
          const repeat = (side) => side.repeats > 1 ? `, repeat ${side.repeat + 1} of ${side.repeats}` : "";
          if (both) refill(sides, h("div", { class: "loom-columns" }, [[result.names[1], both.baseline, "baseline"], [result.names[0], both.new, "new"]].map(([name, side, role]) =>
            side ? caseView(model, side, `${role}: ${name}${repeat(side)}`) : card(`${role}: ${name}`, {}, h("p", { class: "loom-empty" }, "This run has no answer to this case.")))));
        },
        columns: [
          { key: "case", width: "28%" }, { key: "evaluator" }, { key: "verdict", width: "6em", show: (row) => dot(row.verdict) },
          { key: "baseline", kind: "score", width: "7em" }, { key: "new", kind: "score", width: "6em" }, { key: "tags" },
        ],
      });
      refill(verdict, h("p", null, h("strong", null, result.headline)), gateLines(result.gates),
        small("comparison by evaluator", result.heads, result.rows.map((row) => [row.evaluator, dot(row.verdict), row.cases, row.baseline, row.new, row.difference, row.p, row.won, row.lost, row.effect])),
        h("h4", SPACED, `Cases with different outcomes: ${formatNumber(result.flips)}`), flips,
        result.flips > 0 && h("p", { class: "loom-hint" }, "Open a row to see both answers and their traces."), sides,
        fold("Evidence", list(result.evidence)), result.notes.length > 0 && fold("Limitations of this comparison", list(result.notes)));
    };

    // ---- stored runs ----
    const stored = table({
      model, table: "runs", key: "id", label: "stored runs", height: 340, empty: "No stored runs yet.",
      onOpen: async (row) => { if (await act(model, "open_run", { run: row.id })) parts.open(1); },
      columns: [
        { key: "created_at", name: "begun", kind: "time", width: "12em" }, { key: "target", name: "agent" }, { key: "set" },
        { key: "state", kind: "status", width: "8em" }, { key: "results", name: "answers", kind: "number", width: "6.6em" }, { key: "id", name: "run", width: "30%" },
      ],
    });

    // ---- capturing ----
    const whose = select("Agent"), into = field("Eval set file", { value: "captured.json" });
    const marks = field("Tags", { placeholder: "production" });
    const expected = checkbox("Use its answer and tool calls as the expectation", { checked: true }), whole = checkbox("The whole session");
    const kept = h("div", { "aria-live": "polite" });
    const asked = table({
      model, table: "asked", key: "id", label: "invocations of the agent", height: 220, empty: "This agent has no invocations yet.", onOpen: () => {},
      columns: [
        { key: "at", name: "asked", kind: "time", width: "12em" }, { key: "prompt", name: "question" }, { key: "response", name: "answer" },
        { key: "status", kind: "status", width: "8em" },
      ],
    });
    const lookAsked = async () => { await act(model, "asked", { agent: whose.value }); asked.reload(); };
    const capture = async (look) => {
      const row = asked.chosen;
      const result = await act(model, "capture", {
        agent: whose.value, path: into.value, tags: marks.value, expected: expected.value, whole: whole.value, look,
        invocation: row?.id, session: row?.session,
      });
      if (result?.case) refill(kept, capturedView(result));
    };
    const capturedView = (result) => card(result.case, { state: result.written ? "done" : result.is_new ? "not written" : "already in the file", kind: result.written ? "good" : "wait" },
      h("p", null, result.written || !result.is_new ? result.sentence : "Preview: this case would be stored. Nothing has been written."),
      h("h5", SPACED, "Redacted"),
      result.redactions.length ? h("ul", { style: { margin: "2px 0" } }, result.redactions.map(([name, count]) => h("li", null, `${count} × ${name}`)))
        : h("p", { class: "loom-hint" }, "No secret or personal data was detected. Check the text yourself as well."),
      result.turns.map((turn) => facts([["asked", pre(turn.asked)], ["expected", turn.expected === null ? "nothing" : pre(turn.expected)],
        turn.tools !== null && ["tools", turn.tools.join(", ") || "none"]].filter(Boolean))),
      h("p", { class: "loom-hint" }, `${result.cases === 1 ? "1 case" : `${formatNumber(result.cases)} cases`} in ${result.path} · tags: ${result.tags.join(", ")}`));
    whose.control.addEventListener("change", lookAsked);

    const parts = tabs([
      ["Run", asking],
      ["Results", h("div", null, results)],
      ["Compare", h("div", null, h("div", { class: "loom-row" }, newer, older, margin, compare), verdict)],
      ["Stored runs", h("div", null, h("div", { class: "loom-row" }, button("Refresh", () => act(model, "refresh")), h("span", { class: "loom-hint" }, "Open a row to see the run.")), stored)],
      ["Capture", h("div", null,
        h("p", null, "Turn a real invocation into an eval case. Secrets and personal data are redacted before anything is stored. The file is created if it does not exist."),
        h("div", { class: "loom-row" }, whose, button("Refresh", lookAsked)), asked,
        h("div", { class: "loom-row" }, into, marks, expected, whole),
        h("div", { class: "loom-row" }, button("Capture as case", () => capture(false), { kind: "main" }), button("Preview", () => capture(true))), kept)],
    ], { label: "parts of evaluation" });
    const labels = h("p", { class: "loom-hint" });
    put(body, [labels, parts]);

    const showHead = (result) => {
      if (!result?.run) return;
      if (!results.contains(head)) refill(results, head, table0, detail);
      showRun(result);
    };
    const progress = (result) => {
      if (!result?.sentence) { if (result?.ended) moving.hidden = true; return; }
      begin.disabled = true; halt.disabled = false; moving.hidden = false;
      bar.value = result.total ? result.answered / result.total : 0;
      barSaid.textContent = unbroken(result.sentence);
    };
    body.keep(onState(model, "busy", () => { if (!model.get("busy")) { halt.disabled = true; moving.hidden = true; begin.disabled = ticks.size === 0; } }));
    body.keep(onState(model, "state", () => {
      const now = model.get("state");
      const first = !set.value;
      set.options(now.sets ?? [], set.value);
      known.options([["", "choose …"], ...(now.known ?? [])], "");
      const runs = now.runs ?? [];
      newer.options(runs, newer.value); older.options(runs, older.value);
      if (runs.length > 1 && newer.value === older.value) { newer.value = runs[0][0]; older.value = runs[1][0]; }
      const had = whose.value;
      whose.options(now.agents ?? [], whose.value);
      if (had !== whose.value) lookAsked();
      labels.textContent = (now.labels ?? []).join(" · ");
      drawAgents();
      if (first) lookSet();
    }));
    body.keep(onMessage(model, "progress", progress));
    body.keep(onMessage(model, "results", showHead));
    body.keep(onMessage(model, "compared", showCompared));
    body.keep(onMessage(model, "runs", () => stored.reload()));
    act(model, "hello").then((result) => { showHead(result?.head); progress(result?.progress); showCompared(result?.compared); });
  }),
};
