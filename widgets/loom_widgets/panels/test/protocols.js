// Parts of the Test panel for MCP and A2A agents: listings with forms made from schemas, the questions of a server, the
// log of a session, and the card of an A2A agent. Loaded when the first such agent is chosen.

const LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];
const LINES = 200;

export default (kit, model, { form, asking }) => {
  const { act, button, calm, card, checkbox, facts, field, h, link, put, refill, select, short, stop, tabs, textarea } = kit;
  let key = "";  // the shown agent and qualifier
  /** Return what an action replies; null if another agent or qualifier is shown by then. */
  const read = async (name, more) => {
    const asked = key, reply = await act(model, name, { ...form(), ...more });
    return asked === key ? reply : null;
  };

  /** A listing of a server: choose an entry, fill in its form and send the call. `texts`: label, list and send buttons. */
  const listing = (what, [label, toList, toSend], [listAction, sendAction]) => {
    const choice = select(label, [], { none: "not listed yet" });
    const about = h("p", { class: "loom-hint" }), place = h("div");
    const list = button(toList, () => fill()), call = button(toSend, () => send(), { kind: "main", disabled: true });
    const halt = button("Stop", () => stop(model, "invoke"), { class: "loom-quiet", disabled: true });
    const node = h("section", { "aria-label": what }, h("div", { class: "loom-row" }, h("div", { class: "loom-wide" }, choice), list), about, place, h("div", { class: "loom-row" }, call, halt));
    let items = [], drawn = null;
    const running = (yes) => { list.disabled = yes; call.disabled = yes || !drawn; halt.disabled = !yes; asking(yes); };
    const choose = () => {
      const now = items.find((item) => item.name === choice.value);
      drawn = now ? schemaForm(kit, now.fields, `arguments of ${short(now.label, 60)}`) : null;
      about.textContent = short(calm(now?.description ?? ""), 600);
      refill(place, drawn);
      call.disabled = !now;
    };
    const fill = async () => {
      running(true);
      const reply = await read(listAction, { roots: roots.value });
      running(false);
      if (!reply?.items) return;
      items = reply.items;
      choice.options(items.map((item) => [item.name, short(item.label)]), choice.value);
      if (!items.length) about.textContent = `The server has no ${what}.`;
      else { choose(); choice.control.focus(); }
    };
    const send = async () => {
      if (!drawn || call.disabled) return;
      running(true);
      await act(model, sendAction, { ...form(), roots: roots.value, name: choice.value, values: drawn.values() });
      running(false);
    };
    choice.control.addEventListener("change", choose);
    place.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); send(); }
    });
    node.clear = () => { items = []; choice.options([], ""); choose(); };
    return node;
  };

  // ---- MCP ----

  const roots = textarea("Roots", { rows: 2, placeholder: "folder or file:///…", hint: "One per line. A server may ask which folders it can use; a changed list opens a new session." });
  const about = h("div"), lines = h("pre", { hidden: true, tabindex: 0, "aria-label": "log lines of the server", style: { "max-height": "12em", overflow: "auto", "unicode-bidi": "plaintext" } });
  const level = select("Minimum log level", LEVELS);
  level.value = "info";
  const described = button("Show server details", async () => { const reply = await read("server", { roots: roots.value }); if (reply?.facts) refill(about, facts(reply.facts.map(([name, value]) => [name, short(calm(value), 600)]))); });
  const listings = [
    listing("tools", ["Tool", "List the tools", "Call"], ["tools", "call_tool"]),
    listing("resources", ["Resource", "List the resources", "Read"], ["resources", "read_resource"]),
    listing("prompts", ["Prompt of the server", "List the prompts", "Get"], ["prompts", "get_prompt"]),
  ];
  const server = h("div", null, h("div", { class: "loom-row" }, described, level, button("Set", () => act(model, "log_level", { ...form(), roots: roots.value, level: level.value }), { "aria-label": "Set the log level" })), about, roots, lines);
  const mcp = h("section", { "aria-label": "MCP server" }, tabs([["Tools", listings[0]], ["Resources", listings[1]], ["Prompts", listings[2]], ["Server", server]], { label: "what the server offers" }));

  // ---- A2A ----

  const facts_ = h("div");
  const a2a = h("section", { "aria-label": "agent card" }, h("div", { class: "loom-row" }, button("Read the card", async () => {
    const reply = await read("agent_card");
    if (reply?.facts) refill(facts_, facts(reply.facts.map(([name, value]) => [name, calm(value)])));
  })), facts_);

  // ---- questions of a server during a call ----

  const question = h("section", { "aria-label": "question of the server", "aria-live": "polite", hidden: true });
  const reply = (asked, action, more) => act(model, "answer_server", { question: asked.question, action, ...more });
  const elicitation = (asked) => {
    const answers = schemaForm(kit, asked.fields ?? [], "answers");
    return [asked.url && h("p", null, "The server asks you to open ", link(asked.url)), answers, h("div", { class: "loom-row" },
      button("Answer", () => reply(asked, "accept", { values: answers.values() }), { kind: "main" }), button("Decline", () => reply(asked, "decline")), button("Cancel", () => reply(asked, "cancel"), { class: "loom-quiet" }))];
  };
  const sampling = (asked) => {
    const text = textarea("Answer", { rows: 3, hint: asked.most ? `The server requests at most ${asked.most} tokens.` : "" }), name = field("Model", { value: asked.model ?? "" });
    const label = h("span", { class: "loom-hint" });
    const model_ = button("Let the model answer", async () => {
      model_.disabled = true;
      const answer = await act(model, "sample", { question: asked.question, model: name.value });
      model_.disabled = false;
      if (answer?.text !== undefined) { text.value = answer.text; label.textContent = (answer.labels ?? []).join(" · "); text.control.focus(); }
    });
    return [asked.system && h("p", { class: "loom-hint" }, `System prompt: ${short(calm(asked.system), 2000)}`),
      (asked.messages ?? []).map(([role, said]) => h("p", { style: { "white-space": "pre-wrap", "unicode-bidi": "plaintext" } }, h("strong", null, `${short(role, 40)}: `), calm(said))),
      h("div", { class: "loom-row" }, h("div", { class: "loom-wide" }, name), model_, label), text,
      h("div", { class: "loom-row" }, button("Send the answer", () => reply(asked, "accept", { text: text.value }), { kind: "main" }), button("Decline", () => reply(asked, "decline")))];
  };
  const ask = (asked) => {
    question.hidden = !asked?.message;
    refill(question, !question.hidden && card(short(calm(asked.message), 400), { state: "waiting for you", level: 5 }, (asked.asks === "model" ? sampling : elicitation)(asked)));
  };

  const log = (text) => {
    lines.hidden = false;
    lines.append(`${short(calm(text), 2000)}\n`);
    while (lines.childNodes.length > LINES) lines.firstChild.remove();
  };
  const show = ({ protocol, agent, qualifier }) => {
    mcp.hidden = protocol !== "MCP";
    a2a.hidden = protocol !== "A2A";
    const now = JSON.stringify([agent, qualifier]);
    if (now === key) return;
    key = now;
    for (const item of listings) item.clear();
    for (const node of [about, facts_, lines]) node.replaceChildren();
    lines.hidden = true;
  };
  return { node: put(h("div"), [a2a, mcp, question]), show, ask, log };
};
