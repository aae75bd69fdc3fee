// An evaluation: its result, its cases with failed ones first, and the details of an opened case.

export default {
  render: (given) => shown(given, (body, model, state) => {
    const top = h("div", null, hint("Reading the cases …")), below = h("div"), detail = h("div", { "aria-live": "off" });
    const word = select("State"), text = field("Search", { placeholder: "case or question" }), said = live({ class: "loom-hint" });
    let cases = null;
    const applyFilter = async () => {
      const result = await act(model, "filter", { state: word.value, text: text.value });
      if (!result) return;
      said.say(result.shown === result.of ? "" : `${formatNumber(result.shown)} of ${cases_(result.of)}`);
      cases.reload();
    };
    word.control.addEventListener("change", applyFilter);
    text.control.addEventListener("change", applyFilter);
    const open = async (row) => {
      const result = await act(model, "case", { place: row.place, repeat: row.repeat });
      if (result?.case === undefined) return;
      refill(detail, caseView(model, result, row.case));
      detail.scrollIntoView?.({ block: "nearest" });
    };
    const draw = ({ head, summary, cases: first }) => {
      refill(top, h("p", null, dot(head.state), ` ${formatNumber(head.answered)} of ${formatNumber(head.total)} answered`, head.reason && `: ${head.reason}`,
        h("span", { class: "loom-hint" }, ` · ${[head.set, head.name, formatTime(head.created_at), head.run, ...head.labels].filter(Boolean).join(" · ")}`)),
      list(head.sentences), folded("Each evaluator's numbers", plainTable("each evaluator's numbers", summary)));
      word.options([["", `all (${formatNumber(head.answered)})`], ...Object.entries(head.states).map(([item, count]) => [item, `${item} (${formatNumber(count)})`])], "");
      cases = table({
        model, table: "cases", given: first, label: "cases of this run", onOpen: open, height: 320, empty: "No case matches.",
        columns: [
          { key: "case", width: "18em" }, { key: "state", width: "8.5em", show: (row) => dot(row.state) }, { key: "asked", width: "20em" },
          ...head.evaluators.map((name, at) => ({ key: `e${at}`, name, width: "7em", show: (row) => score(row[`e${at}`], row[`w${at}`]) })),
          { key: "duration_ms", name: "took", kind: "ms", width: "6em" }, { key: "ttft_ms", name: "TTFT", kind: "ms", width: "6em" },
          { key: "tokens", kind: "number", width: "6em" }, { key: "cost", width: "6.6em", show: (row) => formatMoney(row.cost) },
        ],
      });
      refill(below, h("div", { class: "loom-row" }, word, text, said), cases,
        hint("Failed cases come first. Press Enter or click to open a row. ✓ passed, ▼ low score, ? the judge failed."));
    };
    put(body, [top, below, detail]);
    let drawn = "";
    body.keep(onState(model, "state", () => {
      const asked = model.get("state").asked ?? {};
      if (!asked.head || drawn === JSON.stringify(asked.head)) return;
      drawn = JSON.stringify(asked.head);
      draw(asked);
    }));
  }),
};
