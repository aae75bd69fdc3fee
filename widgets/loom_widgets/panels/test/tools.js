// Tools of an MCP server with forms made from their schemas, the questions of a server, and the card of an A2A agent.

/** The controls of a schema's fields: `.values()` are texts and booleans by name. */
function schemaForm(fields, prefix) {
  const controls = fields.map((item) => {
    const label = item.label, hint = short(item.hint, 300);
    const control = item.kind === "flag" ? checkbox(label, { checked: item.value === true })
      : item.kind === "choice" ? select(label, [...(item.required ? [] : [["", "–"]]), ...item.choices], { hint })
        : item.kind === "json" ? textarea(label, { rows: 2, hint }) : field(label, { hint });
    if (item.kind !== "flag") control.value = item.kind === "choice" && item.required && !item.value ? item.choices[0] : item.value;
    return [item.name, control];
  });
  const node = h("div", { class: "loom-form", role: "group", "aria-label": prefix }, controls.map(([, control]) => control));
  node.values = () => Object.fromEntries(controls.map(([name, control]) => [name, control.value]));
  return node;
}

/** The tool browser: `.show(protocol, agent)`; `form` gives the chosen agent. */
function toolBrowser(model, { form, asking }) {
  const tool = select("Tool", [], { none: "not listed yet" });
  const about = h("p", { class: "loom-hint" });
  const place = h("div");
  const list = button("List the tools", () => read());
  const call = button("Call", () => send(), { kind: "main", disabled: true });
  const halt = button("Stop", () => stop(model, "invoke"), { class: "loom-quiet" });
  const node = h("section", { "aria-label": "tools", hidden: true }, h("div", { class: "loom-row" }, tool, list), about, place, h("div", { class: "loom-row" }, call, halt));
  let tools = [], drawn = null, key = "";
  const choose = () => {
    const now = tools.find((item) => item.name === tool.value);
    drawn = now ? schemaForm(now.fields, `arguments of ${short(now.name, 60)}`) : null;
    about.textContent = short(calm(now?.description ?? ""), 600);
    refill(place, drawn);
    call.disabled = !now;
  };
  const read = async () => {
    list.disabled = true;
    const reply = await act(model, "tools", form());
    list.disabled = false;
    if (!reply) return;
    tools = reply.tools;
    tool.options(tools.map((item) => item.name), tool.value);
    choose();
    tool.control.focus();
  };
  const send = async () => {
    if (!drawn || call.disabled) return;
    call.disabled = true;
    asking(true);
    await act(model, "call_tool", { ...form(), tool: tool.value, arguments: drawn.values() });
    asking(false);
    call.disabled = !drawn;
  };
  tool.control.addEventListener("change", choose);
  place.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); send(); }
  });
  node.show = (protocol, agent) => {
    node.hidden = protocol !== "MCP";
    if (agent === key) return;
    key = agent;
    tools = [];
    tool.options([], "");
    choose();
  };
  return node;
}

/** A question of a server during a call: `.show(question)`; without a message it is over. */
function serverQuestion(model) {
  const node = h("section", { "aria-label": "question of the server", "aria-live": "polite", hidden: true });
  node.show = (question) => {
    node.hidden = !question?.message;
    if (node.hidden) return void node.replaceChildren();
    const answers = schemaForm(question.fields ?? [], "answers");
    const reply = (action) => act(model, "answer_server", { action, values: answers.values() });
    refill(node, card(short(calm(question.message), 400), { state: "waiting for you", level: 5 },
      question.url && h("p", null, "The server asks you to open ", link(question.url)), answers,
      h("div", { class: "loom-row" }, button("Answer", () => reply("accept"), { kind: "main" }), button("Decline", () => reply("decline")), button("Cancel", () => reply("cancel"), { class: "loom-quiet" }))));
  };
  return node;
}

/** The card of an A2A agent: `.show(protocol, agent)`. */
function agentCard(model, form) {
  const place = h("div");
  const read = button("Read the card", async () => { const reply = await act(model, "agent_card", form()); if (reply) refill(place, facts(reply.facts.map(([name, value]) => [name, calm(value)]))); });
  const node = h("section", { "aria-label": "agent card", hidden: true }, h("div", { class: "loom-row" }, read), place);
  let key = "";
  node.show = (protocol, agent) => {
    node.hidden = protocol !== "A2A";
    if (agent !== key) { key = agent; place.replaceChildren(); }
  };
  return node;
}
