// Build: the form of a deployment, its progress, and the catalog.

const OWN_CODE = "file or folder";

/** The endpoints of an agent with the version that each serves, and a form to promote one; read when it is opened. */
function releases(model, agent) {
  const content = h("div", null, h("p", { class: "loom-hint" }, "Reading the versions …"));
  const endpoint = field("Endpoint", { placeholder: "prod" });
  const version = select("Version", [], { none: "no version is READY" });
  const fill = (reply) => {
    if (!reply || !reply.endpoints) return;
    version.options(reply.versions.map((item) => [item, item]), version.value || reply.versions[0]);
    const rows = reply.endpoints.map((item) => h("tr", null,
      h("th", { scope: "row", style: { "text-align": "left" } }, short(item.endpoint, 60)), h("td", null, item.version || "–"), h("td", null, statusDot(item.status)),
      h("td", null, item.endpoint === "DEFAULT" ? h("span", { class: "loom-hint" }, "always the newest version")
        : item.before ? confirmButton(`Roll back to ${item.before}`, `Let ${short(item.endpoint, 40)} serve version ${item.before} again?`,
          async () => fill(await act(model, "roll_back", { arn: agent.arn, endpoint: item.endpoint })), { "aria-label": `Roll back ${short(item.endpoint, 40)} to version ${item.before}` })
        : h("span", { class: "loom-hint" }, "no earlier version is known"))));
    refill(content,
      h("table", { class: "loom-endpoints", style: { "text-align": "left", "border-spacing": "1em 2px", margin: "0 -1em" }, "aria-label": `endpoints of ${short(agent.name)}` },
        h("thead", null, h("tr", null, ["endpoint", "version", "status", ""].map((title) => h("th", { scope: "col" }, title)))), h("tbody", null, rows)),
      row(endpoint, version,
        confirmButton("Promote", "Let this endpoint serve the chosen version?",
          async () => fill(await act(model, "promote", { arn: agent.arn, endpoint: endpoint.value, version: version.value })))));
  };
  const box = h("details", null, h("summary", null, "Endpoints and versions"), content);
  box.addEventListener("toggle", async () => { if (box.open) fill(await act(model, "releases", { arn: agent.arn })); });
  return box;
}

function onEnter(item, go) {
  item.control.addEventListener("keydown", (event) => { if (event.key === "Enter") { event.preventDefault(); go(); } });
  return item;
}

/**
 * A closed part of the form, whose controls are created when it is opened first. `make` returns [controls by key, nodes];
 * `.values()` returns [key, value] pairs, none before.
 */
function optional(title, make) {
  const box = h("details", null, h("summary", null, title));
  let controls = null;
  box.addEventListener("toggle", () => {
    if (controls || !box.open) return;
    const [fields, ...nodes] = make();
    controls = Object.entries(fields);
    put(box, nodes);
  });
  box.values = () => (controls ?? []).map(([key, control]) => [key, control.value]);
  return box;
}

function identity(begin) {
  const name = onEnter(field("Name", { placeholder: "default: name of the blueprint or folder" }), begin);
  const memory = field("Memory", { placeholder: "none (a name, id or ARN)" });
  const environment = textarea("Environment", {
    rows: 2, placeholder: "QUERY_SECONDS=2", hint: "One NAME=value per line. Loom neither shows nor stores the values.",
  });
  environment.classList.add("loom-wide");
  return [{ name, memory, environment }, row(name, memory), row(environment)];
}

function runtimeSettings() {
  const platform = select("Platform"), protocol = select("Protocol");
  platform.options([["", "default"], ["V1", "V1: each session boots"], ["V2", "V2: each session is restored from a snapshot"]], "");
  protocol.options([["", "default"], ...["HTTP", "MCP", "A2A", "AGUI"].map((item) => [item, item])], "");
  const warmup = field("Warm-up path", { placeholder: "none (V2: called before the snapshot)" });
  const idle = field("Idle time-out", { placeholder: "900 (seconds)" });
  const lifetime = field("Maximum lifetime", { placeholder: "28800 (seconds)" });
  const storage = field("Session storage", { placeholder: "none (a folder such as /mnt/data)" });
  return [{ platform_version: platform, warmup, protocol, idle_timeout_s: idle, max_lifetime_s: lifetime, storage },
    row(platform, warmup, protocol), row(idle, lifetime, storage)];
}

function callers() {
  const authorizer = select("Callers"), discovery = field("Discovery URL", { placeholder: "https://…/.well-known/openid-configuration" });
  authorizer.options([["", "AWS identities (signed requests)"], ["local", "tokens of the local issuer"], ["jwt", "tokens of another issuer"]], "");
  discovery.classList.add("loom-wide");
  const rules = Object.fromEntries([["audience", "Audience"], ["clients", "Clients"], ["scopes", "Scopes"]].map(([key, label]) => [key, field(label, { placeholder: "any; separate several by commas" })]));
  const issuer = h("div", { hidden: true }, row(discovery), row(...Object.values(rules)),
    h("p", { class: "loom-hint" }, "A token must have one value of each field that is filled in. Fill in at least one field."));
  authorizer.control.addEventListener("change", () => { issuer.hidden = authorizer.value !== "jwt"; });
  return [{ authorizer, discovery_url: discovery, ...rules }, row(authorizer), issuer];
}

export default {
  render: (given) => panel(given, (body, model) => {
    const what = select("Blueprint");
    const path = field("Path", { placeholder: "my_agent/agent.py" });
    const about = h("p", { class: "loom-hint" });
    const deploy = button("Deploy", () => begin(), { kind: "main" });
    const plan = button("Show plan", () => look());
    const planned = h("div");
    const halt = button("Stop waiting", () => stop(model, "deploy"), { disabled: true });
    const going = h("div", { class: "loom-deployment", role: "group", "aria-label": "the last deployment", hidden: true });
    const arn = field("ARN of a deployed runtime", { placeholder: "arn:aws:bedrock-agentcore:us-east-1:123456789012:runtime/name-AbC123dEf4" });
    const labels = h("p", { class: "loom-hint" });
    const detail = h("div");
    const agents = table({
      model, table: "agents", key: "arn", label: "agents of the catalog", height: 312,
      empty: "No agents yet. Choose a blueprint above and press Deploy. In code: bench.deploy(\"calculator\").",
      onOpen: (row) => choose(row.arn),
      columns: [
        { key: "name", name: "name", width: "17%" }, { key: "status", name: "status", kind: "status", width: "8.5em" },
        { key: "runtime_id", name: "runtime id", width: "22%" }, { key: "region", name: "region", width: "7em" },
        { key: "qualifiers", name: "qualifiers" }, { key: "registered_at", name: "registered", kind: "time", width: "13em" },
        { key: "last_refreshed_at", name: "last refreshed", kind: "time", width: "13em" },
      ],
    });
    agents.querySelector("table").style.setProperty("min-width", "940px");
    const options = [
      optional("Name, memory and environment", () => identity(begin)),
      optional("Runtime settings", runtimeSettings),
      optional("Who may call it", callers),
    ];
    let blueprints = [], chosen = "", opened = { arn: "", node: null };

    const describe = () => {
      const own = what.value === OWN_CODE;
      path.hidden = !own;
      const blueprint = blueprints.find((item) => item.name === what.value);
      about.textContent = own
        ? "An agent.py, or a folder that contains one and its requirements.txt. The path is read by this kernel."
        : blueprint ? `${blueprint.title}. ${blueprint.description}` : "";
    };
    const given = () => ({
      what: what.value === OWN_CODE ? path.value : what.value,
      ...Object.fromEntries(options.flatMap((option) => option.values())),
    });
    const begin = async () => {
      if (deploy.disabled) return;
      if (what.value === OWN_CODE && !path.value.trim()) return void path.control.focus();
      deploying(true);
      planned.replaceChildren();
      const reply = await act(model, "deploy", given());
      deploying(false);
      if (reply && reply.arn) show(reply);
    };
    const look = async () => {
      if (what.value === OWN_CODE && !path.value.trim()) return void path.control.focus();
      plan.disabled = true;
      const reply = await act(model, "plan", given());
      plan.disabled = false;
      if (!reply || !reply.text) return;
      refill(planned, h("pre", { class: "loom-plan", tabindex: 0, "aria-label": `the plan of ${short(reply.name)}` }, reply.text),
        row(button("Close the plan", () => { planned.replaceChildren(); plan.focus(); })));
      planned.querySelector("pre").focus();
    };
    const deploying = (yes) => { deploy.disabled = yes; halt.disabled = !yes; };
    const register = async () => {
      if (!arn.value.trim()) return void arn.control.focus();
      const reply = await act(model, "register", { arn: arn.value });
      if (reply && reply.arn) { arn.value = ""; show(reply); }
    };
    const choose = async (key) => {
      const reply = await act(model, "describe", { arn: key });
      if (reply) show(reply);
    };
    const refresh = async (key) => {
      const reply = await act(model, "refresh", { arn: key });
      if (reply && reply.arn) show(reply);
    };
    const remove = async (key, runtimeToo) => {
      if (await act(model, "remove", { arn: key, delete_runtime: runtimeToo })) close();
    };
    const close = () => { chosen = ""; opened = { arn: "", node: null }; detail.replaceChildren(); };
    // The open agent may have another version or state than when it was opened.
    const again = async () => {
      const key = chosen;
      const reply = key && await act(model, "details", { arn: key });
      if (!reply || key !== chosen) return;
      if (reply.arn) show(reply); else close();
    };
    const show = (reply) => {
      chosen = reply.arn;
      // The table of endpoints stays open while the agent's facts are shown again.
      if (opened.arn !== reply.arn) opened = { arn: reply.arn, node: releases(model, reply) };
      const values = Object.entries(reply.facts).map(([key, value]) => [key, key === "status" ? statusDot(value) : value]);
      refill(detail, card(reply.name, {},
        facts(values),
        !reply.gone && [h("p", { class: "loom-hint" }, "Invoke it in a cell or in the Test panel:"), h("pre", { tabindex: 0, "aria-label": "a first invocation as Python" }, reply.try), opened.node],
        row(
          button("Refresh", () => refresh(reply.arn), { "aria-label": `Refresh ${short(reply.name)}` }),
          confirmButton("Remove from the catalog", `Remove ${short(reply.name, 40)} from the catalog? Its runtime stays deployed.`, () => remove(reply.arn, false)),
          !reply.gone && confirmButton("Delete the runtime too", `Delete the deployed runtime of ${short(reply.name, 40)}? This cannot be undone.`, () => remove(reply.arn, true), { kind: "danger" }),
          button("Close", close))));
    };

    what.control.addEventListener("change", describe);
    for (const [item, go] of [[path, begin], [arn, register]]) onEnter(item, go).classList.add("loom-wide");
    const onAws = button("Connect to AWS and register", async () => {
      const reply = await act(model, "register_on_aws", { arn: model.get("state").elsewhere?.arn ?? "" });
      if (reply && reply.arn) { arn.value = ""; show(reply); }
    }, { hidden: true });
    const back = button("Back to the local AgentCore", () => act(model, "leave_aws").then((reply) => reply && close()), { hidden: true });
    const registering = card("Register", {}, row(arn, button("Register", () => register())));
    body.errorsOf(["register", "register_on_aws"], registering.body);
    registering.body.append(row(onAws));
    const deployment = card("Deploy", {},
      row(what, path, plan, deploy, halt), about,
      options,
      planned, going);
    body.errorsOf(["plan", "deploy"], deployment.body);
    const list = h("div");
    body.errorsOf(["refresh", "remove", "describe", "leave_aws", "releases", "promote", "roll_back"], list);
    put(body, [
      row(labels, back),
      deployment,
      registering,
      h("div", { class: "loom-row", style: { "justify-content": "space-between" } },
        h("h4", null, "Agents"), button("Refresh all", () => refresh(""))),
      list, agents, detail,
    ]);

    body.keep(onState(model, "state", () => {
      const state = model.get("state");
      labels.textContent = [...(state.labels ?? []), state.where === "aws" ? `AWS ${state.region}` : ""].filter(Boolean).join(" · ");
      onAws.hidden = !state.elsewhere?.arn;
      if (state.elsewhere?.region) onAws.textContent = `Connect to AWS (${state.elsewhere.region}) and register`;
      back.hidden = !state.away;
      if (blueprints.length !== (state.blueprints ?? []).length || !blueprints.length) {
        blueprints = state.blueprints ?? [];
        what.options([...blueprints.map((item) => [item.name, item.of ? `${item.name} (a variant)` : item.name]), [OWN_CODE, "my own file or folder …"]], what.value || "calculator");
        describe();
      }
      const now = state.deployment;
      going.hidden = !now;
      if (!now) return;
      deploying(now.state === "running");
      const kind = { done: "good", failed: "bad" }[now.state] ?? "wait";
      refill(going,
        h("p", null, statusDot(now.state, kind), " ", h("strong", null, short(now.what, 120)), now.took_ms !== undefined && ` · ${formatMs(now.took_ms)}`),
        h("ol", { class: "loom-steps", style: { display: "flex", "flex-wrap": "wrap", gap: "2px 28px", margin: "2px 0", padding: "0 0 0 1.4em" } },
          now.steps.map((item) => h("li", null, item.word, " ", h("span", { class: "loom-hint" }, `after ${formatMs(Math.round(item.after_ms))}`)))),
        now.state === "stopped" && now.sentence && h("p", { class: "loom-hint" }, now.sentence));
    }));
    body.keep(onMessage(model, "agents", () => { agents.reload(); again(); }));
  }),
};
