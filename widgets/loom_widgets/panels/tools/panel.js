// Tools: gateways, functions, knowledge bases, guardrails, Bedrock agents, browsers, web search and a code interpreter, each listed and tried.

const LANGUAGES = [["python", "Python"], ["javascript", "JavaScript"], ["typescript", "TypeScript"], ["command", "shell command"]];
const LINES = { "white-space": "pre-wrap", "unicode-bidi": "plaintext", margin: "6px 0" };
const MODIFIED = { key: "updated_at", name: "changed", kind: "time", width: "13em" };
const STATUS = { key: "status", name: "status", kind: "status", width: "8em" };

const labelsOf = (labels) => labels?.length ? h("p", { class: "loom-hint" }, labels.join(" · ")) : null;
const said = (text) => h("p", { style: LINES }, calm(text));

/** The result of a trial: `.fill(title, {state, kind, …})`; empty without a result. */
function result() {
  const node = h("div", { "aria-live": "polite" });
  node.fill = (value, title, word, good, ...children) => refill(node, value && Object.keys(value).length > 0
    && card(title, { state: word, kind: good ? "good" : "bad" }, children, labelsOf(value.labels)));
  return node;
}

/** A list; choosing a row opens the details below it. */
function list(model, name, label, empty, columns, onOpen, key = "arn") {
  return table({ model, table: name, key, label, height: 200, empty, columns: [{ key: "name", name: "name", width: "16em" }, STATUS, ...columns], onOpen });
}

function gateways(model) {
  let tool = null, drawn = null, shown = "";  // requests name the shown gateway: another one may be chosen meanwhile
  const about = h("div"), place = h("div"), call = result(), found = h("p", { class: "loom-hint", "aria-live": "polite" });
  const query = field("Find tools by what they do", { placeholder: "send a letter" });
  const find = async () => {
    const reply = await act(model, "search_tools", { gateway: shown, query: query.value });
    if (reply?.names) found.textContent = reply.names.length ? `Best first: ${reply.names.join(", ")}` : "No tool matches.";
  };
  query.control.addEventListener("keydown", (event) => { if (event.key === "Enter") find(); });
  const search = h("div", null, row(h("div", { class: "loom-wide" }, query), button("Search", find)), found);
  const send = button("Call", async () => {
    send.disabled = true;
    await act(model, "call_gateway_tool", { gateway: shown, name: tool, values: drawn.values() });
    send.disabled = false;
  }, { kind: "main" });
  const tools = table({
    model, table: "tools", key: "name", label: "tools of the gateway", height: 260, empty: "The gateway has no tools: add a target.",
    columns: [{ key: "name", name: "tool", width: "18em" }, { key: "arguments", name: "arguments", width: "16em" }, { key: "description", name: "description" }],
    onOpen: async (item) => {
      const reply = await act(model, "choose_tool", { gateway: shown, name: item.name });
      if (!reply?.fields) return;
      tool = reply.name;
      drawn = schemaForm({ checkbox, field, h, select, short, textarea }, reply.fields, `arguments of ${short(tool, 60)}`);
      refill(place, card(short(tool), {}, drawn, row(send)));
      (drawn.querySelector("input,select,textarea") ?? send).focus();
    },
  });
  const detail = h("section", { class: "loom-box", "aria-label": "chosen gateway", hidden: true }, about, search, tools, place, call);
  const node = h("div", null, list(model, "gateways", "gateways", "No gateways yet. In code: bench.gateways.create(\"tools\"), then gateway.add_openapi(…) or gateway.add_mcp(…).", [
    { key: "authorizer", name: "callers", width: "9em" }, { key: "url", name: "address" },
  ], (item) => act(model, "choose_gateway", { arn: item.arn })), detail);
  node.fill = (chosen) => {
    detail.hidden = !chosen?.arn;
    if (detail.hidden) return;
    shown = chosen.arn;
    search.hidden = !chosen.searches;
    found.textContent = "";
    refill(about, h("h4", null, chosen.name), facts(chosen.facts), chosen.targets.rows.length > 0 && plainTable("targets of the gateway", chosen.targets));
    refill(place);
    tools.reload();
  };
  node.show = (value) => call.fill(value, value?.tool, value?.ok ? "answered" : "failed", value?.ok, h("p", null, value?.took), said(value?.text));
  node.reload = () => node.querySelector(".loom-tablebox").reload();
  return node;
}

function knowledgeBases(model) {
  let key = "";
  const name = h("h4"), question = field("Question"), count = field("Passages", { type: "number", min: 1, max: 100, value: 5 }), answer = result();
  const buttons = [["Ask", "ask_base", { kind: "main" }], ["Search only", "search_base", {}]].map(([text, action, props]) => button(text, async () => {
    if (!question.value.trim()) return void question.control.focus();
    for (const one of buttons) one.disabled = true;
    await act(model, action, { key, question: question.value, k: count.value });
    for (const one of buttons) one.disabled = false;
  }, props));
  question.control.addEventListener("keydown", (event) => { if (event.key === "Enter") buttons[0].click(); });
  const detail = h("section", { class: "loom-box", "aria-label": "chosen knowledge base", hidden: true }, name, row(h("div", { class: "loom-wide" }, question), count, buttons), answer);
  const rows = list(model, "knowledge_bases", "knowledge bases", "No knowledge bases yet. In code: bench.bedrock.knowledge_bases.create(\"handbook\").add_folder(\"documents\").", [
    { key: "description", name: "description" }, MODIFIED,
  ], (item) => {
    key = item.id;
    name.textContent = item.name;
    detail.hidden = false;
    node.show(model.get("state").answer);
    question.control.focus();
  });
  const node = h("div", null, rows, detail);
  node.show = (value) => answer.fill(value?.base === key ? value : null, value?.text === undefined ? "Passages" : "Answer", value?.rows?.length ? "found" : "nothing found", Boolean(value?.rows?.length),
    value?.took && h("p", null, value.took), value?.text !== undefined && said(value.text), value?.rows?.length > 0 && plainTable("passages", value));
  node.reload = () => rows.reload();
  return node;
}

function guardrails(model) {
  let key = "";
  const name = h("h4"), text = textarea("Text"), side = select("Check it as", [["INPUT", "a prompt"], ["OUTPUT", "an answer"]]), check = result();
  const run = button("Check", async () => {
    run.disabled = true;
    await act(model, "check_text", { key, text: text.value, side: side.value });
    run.disabled = false;
  }, { kind: "main" });
  const detail = h("section", { class: "loom-box", "aria-label": "chosen guardrail", hidden: true }, name, text, row(side, run), check);
  const rows = list(model, "guardrails", "guardrails", "No guardrails yet. In code: bench.bedrock.guardrails.create(\"careful\", words=[\"nightjar\"], mask=[\"EMAIL\"]).", [
    { key: "policies", name: "policies" }, MODIFIED,
  ], (item) => {
    key = item.arn;
    name.textContent = item.name;
    detail.hidden = false;
    node.show(model.get("state").check);
    text.control.focus();
  });
  const node = h("div", null, rows, detail);
  node.show = (value) => check.fill(value?.key === key ? value : null, "Check", value?.intervened ? "intervened" : "passed", !value?.intervened,
    h("p", null, value?.took), said(value?.text), value?.rows?.length > 0 && plainTable("matches", value));
  node.reload = () => rows.reload();
  return node;
}

function lambdaFunctions(model) {
  let key = "";
  const name = h("h4"), event = textarea("Event (JSON)", { rows: 4, spellcheck: "false" }), reply = result();
  event.control.value = "{}";
  const run = button("Call", async () => {
    run.disabled = true;
    await act(model, "call_function", { key, event: event.value });
    run.disabled = false;
  }, { kind: "main" });
  const detail = h("section", { class: "loom-box", "aria-label": "chosen function", hidden: true }, name, event, row(run), reply);
  const rows = list(model, "functions", "functions", "No functions yet. In code: bench.tools.functions.create(\"orders\", \"orders.py\").", [
    { key: "runtime", name: "language", width: "9em" }, { key: "handler", name: "handler", width: "16em" }, { key: "description", name: "description" }, MODIFIED,
  ], (item) => {
    key = item.arn;
    name.textContent = item.name;
    detail.hidden = false;
    node.show(model.get("state").reply);
    event.control.focus();
  });
  const node = h("div", null, rows, detail);
  node.show = (value) => reply.fill(value?.key === key ? value : null, "Result", value?.ok ? "answered" : "failed", value?.ok,
    h("p", null, value?.took), said(value?.text), value?.log && h("details", null, h("summary", null, "log"), said(value.log)));
  node.reload = () => rows.reload();
  return node;
}

function bedrockAgents(model) {
  let key = "", fields = [];
  const name = h("h4"), question = field("Prompt"), alias = field("Alias", { placeholder: "the working draft" }), turn = result(), place = h("div");
  const buttons = [["Ask", false], ["Ask in a new session", true]].map(([text, anew]) => button(text, async () => {
    if (!question.value.trim()) return void question.control.focus();
    await working("ask_agent", { key, prompt: question.value, alias: alias.value, anew });
  }, anew ? {} : { kind: "main" }));
  const working = async (action, form) => {
    for (const one of buttons) one.disabled = true;
    await act(model, action, form);
    for (const one of buttons) one.disabled = false;
  };
  question.control.addEventListener("keydown", (event) => { if (event.key === "Enter") buttons[0].click(); });
  const assessed = result(), folder = field("Folder", { placeholder: "order-desk" });
  for (const [text, action] of [["Features on AgentCore", "assess_agent"], ["Write a snapshot", "write_agent"]]) {
    buttons.push(button(text, () => working(action, { key, alias: alias.value, folder: folder.value })));
  }
  const goOn = (deny) => working("answer_agent", { key, deny, results: Object.fromEntries(fields.map(([call, control]) => [call, control.value])) });
  const detail = h("section", { class: "loom-box", "aria-label": "chosen Bedrock agent", hidden: true }, name, row(h("div", { class: "loom-wide" }, question), alias, buttons.slice(0, 2)), turn, place, row(buttons[2], folder, buttons[3]), assessed);
  const rows = list(model, "bedrock_agents", "Bedrock agents", "No Bedrock agents yet. The notebook 04_bedrock_agent creates one.", [
    { key: "latest_version", name: "version", width: "7em" }, { key: "description", name: "description" }, MODIFIED,
  ], (item) => {
    if (key !== item.id) {
      key = item.id;
      node.show(model.get("state").turn);
      node.assess(model.get("state").assessed);
    }
    name.textContent = item.name;
    detail.hidden = false;
    question.control.focus();
  }, "id");
  const node = h("div", null, rows, detail);
  node.show = (given) => {
    const value = given?.key === key ? given : null, requests = value?.requests ?? [];
    turn.fill(value, requests.length ? "Return of control" : "Answer", requests.length ? "waiting for you" : "answered", true,
      value && h("p", null, value.took), value?.text && said(value.text), value?.rows?.length > 0 && plainTable("steps", value));
    fields = requests.filter((one) => one.needs !== "confirmation").map((one) => [one.name, field(`Result of ${short(one.name, 60)}`)]);
    refill(place, requests.length > 0 && card("Calls that the agent returns", {},
      requests.map((one) => h("p", null, `${short(one.name, 60)}(${short(one.arguments, 200)}) needs ${one.needs}`)), fields.map(([, control]) => control),
      row(button(fields.length ? "Send the results" : "Confirm", () => goOn(false), { kind: "main" }),
        requests.some((one) => one.needs !== "result") && button("Deny", () => goOn(true)))));
  };
  node.assess = (value) => {
    const features = value?.key === key ? value : null;
    assessed.fill(features, `Features, ${features?.version}`, features?.needs ? "manual steps" : "can move", !features?.needs,
      features?.rows.length > 0 && plainTable("features on AgentCore", features), features?.notes.map(said));
  };
  node.reload = () => rows.reload();
  return node;
}

function browsers(model) {
  let key = "";
  const name = h("h4"), url = field("Address", { placeholder: "https://example.com" }), page = result();
  const halt = button("End the session", () => act(model, "stop_browser"));
  const run = button("Open", async () => {
    if (!url.value.trim()) return void url.control.focus();
    run.disabled = true;
    await act(model, "open_page", { key, url: url.value });
    run.disabled = false;
  }, { kind: "main" });
  url.control.addEventListener("keydown", (event) => { if (event.key === "Enter") run.click(); });
  const detail = h("section", { class: "loom-box", "aria-label": "chosen browser", hidden: true }, name, row(h("div", { class: "loom-wide" }, url), run, halt), page);
  const rows = list(model, "browsers", "browsers", "No browsers.", [
    { key: "id", name: "id", width: "14em" }, { key: "description", name: "description" },
  ], (item) => {
    key = item.id;
    name.textContent = item.name;
    detail.hidden = false;
    node.show(model.get("state").page);
    url.control.focus();
  });
  const node = h("div", null, rows, detail);
  node.show = (value) => {
    const shown = value?.key === key ? value : null;
    const picture = shown && h("img", { style: { "max-width": "100%" } });
    if (picture) Object.assign(picture, { src: `data:image/png;base64,${shown.image}`, alt: `screenshot of ${short(shown.title || shown.url)}` });
    page.fill(shown, "Page", "opened", true, h("p", null, `${shown?.title || "without a title"} · ${shown?.took}`), picture);
  };
  node.reload = () => rows.reload();
  return node;
}

function webSearch(model) {
  const query = field("Search for"), found = result();
  const run = button("Search", async () => {
    if (!query.value.trim()) return void query.control.focus();
    run.disabled = true;
    await act(model, "search_web", { query: query.value });
    run.disabled = false;
  }, { kind: "main" });
  query.control.addEventListener("keydown", (event) => { if (event.key === "Enter") run.click(); });
  const node = h("div", null, row(h("div", { class: "loom-wide" }, query), run), found);
  node.show = (value) => found.fill(value, "Pages", value?.rows?.length ? "found" : "nothing found", value?.rows?.length > 0,
    h("p", null, `${value?.query} · ${value?.took}`), value?.rows?.length > 0 && plainTable("pages", value));
  node.reload = () => {};
  return node;
}

function codeInterpreter(model) {
  const code = textarea("Cell", { rows: 5, spellcheck: "false" }), language = select("Language", LANGUAGES), output = result();
  const halt = button("End the session", () => act(model, "stop_code"));
  const run = button("Run", async () => {
    run.disabled = true;
    await act(model, "run_code", { code: code.value, language: language.value });
    run.disabled = false;
  }, { kind: "main" });
  code.control.addEventListener("keydown", (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) run.click(); });
  const files = table({
    model, table: "files", key: "path", label: "files of the session", height: 160, empty: "No files in the session's folder.",
    columns: [{ key: "path", name: "file" }, { key: "kind", name: "kind", width: "8em" }, { key: "size_bytes", name: "bytes", kind: "number", width: "8em" }, { key: "mime_type", name: "type", width: "14em" }],
  });
  const node = h("div", null, h("p", { class: "loom-hint" }, "Cells share one session: its variables and files stay until it ends. Ctrl+Enter runs the cell."),
    code, row(language, run, halt), output, files);
  node.show = (value) => output.fill(value, "Output", value?.ok ? "done" : "failed", value?.ok, h("p", null, value?.took), said(value?.text));
  node.reload = () => files.reload();
  return node;
}

export default {
  render: (given) => panel(given, (body, model) => {
    const parts = {
      call: gateways(model), reply: lambdaFunctions(model), answer: knowledgeBases(model), check: guardrails(model), turn: bedrockAgents(model),
      output: codeInterpreter(model), page: browsers(model), web: webSearch(model),
    };
    put(body, [row(button("Refresh", () => act(model, "refresh"))), tabs([
      ["Gateways", parts.call], ["Functions", parts.reply], ["Knowledge bases", parts.answer], ["Guardrails", parts.check], ["Bedrock agents", parts.turn],
      ["Code interpreter", parts.output], ["Browsers", parts.page], ["Web search", parts.web],
    ], { label: "kinds of tools" })]);
    let before = {};
    body.keep(onState(model, "state", () => {
      const now = model.get("state");
      // An unchanged value is not drawn again: what was typed or opened in it stays.
      const isChanged = (name) => JSON.stringify(now[name]) !== JSON.stringify(before[name]);
      for (const [name, part] of Object.entries(parts)) if (isChanged(name)) part.show(now[name]);
      if (isChanged("assessed")) parts.turn.assess(now.assessed);
      before = now;
    }));
    body.keep(onMessage(model, "lists", () => { for (const part of Object.values(parts)) part.reload(); }));
    body.keep(onMessage(model, "files", () => parts.output.reload()));
    body.keep(onMessage(model, "gateway", (message) => parts.call.fill(message)));
    act(model, "hello").then((chosen) => parts.call.fill(chosen));
  }),
};
