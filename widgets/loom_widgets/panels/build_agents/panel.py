"""Build: deploy an agent and follow its status to READY, register one by ARN, and maintain the catalog."""

# pyright: basic

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import loomlib as loom
from loomlib import Agent, JwtAuthorizer, Workbench
from loomlib.agents import RuntimeArn
from loomlib.errors import AgentNotFoundError, LoomError, NotSupportedError
from loomlib.json_values import as_list, as_mapping, as_text
from loomlib.presentation.formats import plural

from ...kit import ActionCancelledError, Cancel, Form, Panel, action
from ...kit.panel import static_summary
from ...kit.source import connect_code, frame_rows
from .release_actions import ReleaseActions

if TYPE_CHECKING:
    from markupsafe import Markup


_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MOST_STEPS = 50
_COLUMNS = ("name", "status", "runtime_id", "region", "qualifiers", "registered_at", "last_refreshed_at")


class BuildPanel(Panel):
    """The Build panel: adds agents to the catalog and removes them."""

    opener: ClassVar[str] = "build"
    called: ClassVar[str] = "Build"
    script: ClassVar[tuple[str, str]] = ("loom_widgets.panels.build_agents", "panel.js")

    def __init__(self, bench: Workbench, **options: Any) -> None:
        self._bench_argument = bench
        releases = ReleaseActions(self, lambda: self.bench, self._put_agents)
        super().__init__(bench, actions=(releases,), **options)
        self.show(
            blueprints=[
                {"name": row["name"], "title": row["title"], "description": row["description"], "of": row["variant of"]}
                for row in frame_rows(bench.blueprints())
            ],
            elsewhere={},
        )
        self._show_place()
        self._put_agents()

    # Actions.

    @action(lane="deploy")
    def deploy(self, form: Form, cancel: Cancel) -> Mapping[str, Any]:
        """Deploy a blueprint, a file or a folder, and report each step."""
        source, name, memory = (form.text(item).strip() for item in ("what", "name", "memory"))
        if not source:
            raise LoomError("There is nothing to deploy", on="no path is given", try_="the path of your agent.py")
        environment, settings, authorizer = _variables(form.text("environment")), _settings(form), _authorizer(form)
        self.show_code(connect_code(self.bench) + _deploy_code(source, name, memory, environment, settings, authorizer))
        began, steps = time.monotonic(), list[dict[str, Any]]()

        def step(word: str) -> None:
            if not steps or steps[-1]["word"] != word:
                steps.append({"word": word, "after_ms": (time.monotonic() - began) * 1000})
                self.show(deployment={"what": source, "state": "running", "steps": steps[-_MOST_STEPS:]})
                self.say(f"Deploying {source}: {word}")
            cancel.check()

        def end(state: str, sentence: str) -> None:
            took_ms = (time.monotonic() - began) * 1000
            deployment = {"what": source, "state": state, "steps": steps[-_MOST_STEPS:]}
            self.show(deployment={**deployment, "took_ms": took_ms, "sentence": sentence})
            self.say(sentence)

        try:
            step("packing")
            agent = self.bench.deploy(
                source,
                name=name or None,
                environment=environment or None,
                memory=memory or None,
                authorizer=authorizer,
                progress=step,
                **settings,
            )
        except ActionCancelledError:
            end(
                "stopped",
                "Stopped. The resources created so far are kept: deploy again to continue.",
            )
            raise
        except Exception:  # the error pane shows the reason
            end("failed", f"{source} was not deployed.")
            raise
        self._put_agents()
        self.announce()
        end("done", f"{agent.name} is {agent.status}: {agent.entry.runtime_id}.")
        return self._about(agent)

    @action(lane="plan")
    def plan(self, form: Form, cancel: Cancel) -> Mapping[str, Any]:
        """Return what deploying would create, change and cost, without deploying."""
        source, name, memory = (form.text(item).strip() for item in ("what", "name", "memory"))
        if not source:
            raise LoomError("There is nothing to plan", on="no path is given", try_="the path of your agent.py")
        environment, settings, authorizer = _variables(form.text("environment")), _settings(form), _authorizer(form)
        code = _deploy_code(source, name, memory, environment, settings, authorizer)
        self.show_code(connect_code(self.bench) + code.replace("agent = bench.deploy(", "bench.plan("))

        def step(word: str) -> None:
            self.say(f"Planning {source}: {word}")
            cancel.check()

        step("packing")
        plan = self.bench.plan(
            source,
            name=name or None,
            environment=environment or None,
            memory=memory or None,
            authorizer=authorizer,
            progress=step,
            **settings,
        )
        self.say(f"The plan of {plan.spec.name} is below. Nothing was created.")
        return {"name": plan.spec.name, "text": repr(plan)}

    @action(lane="catalog")
    def register(self, form: Form) -> Mapping[str, Any]:
        """Register a deployed runtime in the catalog."""
        arn = form.text("arn").strip()
        if not arn:
            raise LoomError(
                "There is nothing to register", on="no ARN is given", try_="arn:aws:bedrock-agentcore:…:runtime/…"
            )
        self.show(elsewhere={})
        try:
            return self._register(self.bench, arn)
        except NotSupportedError:
            self.show(elsewhere={"arn": arn, "region": RuntimeArn.parse(arn).region})
            raise

    @action(lane="catalog")
    def register_on_aws(self, form: Form) -> Mapping[str, Any]:
        """Connect to AWS in the ARN's region, register the ARN, and show that region's catalog."""
        arn = form.text("arn").strip()
        region = RuntimeArn.parse(arn).region
        self.say(f"Connecting to AWS in {region} …")
        bench = loom.connect("aws", settings=replace(self._bench_argument.context.settings, region=region))
        try:
            details = self._register(bench, arn)
        except BaseException:
            bench.close()
            raise
        self._change_bench(bench)
        self.show(elsewhere={})
        return details

    @action(lane="catalog")
    def leave_aws(self) -> None:
        """Return to the workbench with which the panel was opened."""
        self._change_bench(self._bench_argument)
        self.show_code(connect_code(self.bench))

    @action(lane="catalog")
    def refresh(self, form: Form, cancel: Cancel) -> Mapping[str, Any]:
        """Refresh one agent or all; an agent that cannot be reached does not stop the others."""
        arn = form.text("arn")
        entries = [self.bench.context.catalog.get(arn)] if arn else list(self.bench.context.catalog.list())
        one = f"bench.agent({entries[0].name!r}).refresh()" if arn else "bench.agents(refresh=True)"
        self.show_code(connect_code(self.bench) + one)
        failures: list[LoomError] = []
        for number, entry in enumerate(entries, 1):
            cancel.check()
            self.say(f"Refreshing {entry.name} ({number} of {len(entries)}) …")
            try:
                self.bench.agent(str(entry.arn)).refresh()
            except LoomError as error:
                failures.append(error)
        self._put_agents()
        self.announce()
        if failures:
            first = failures[0]
            more = f" ({len(failures)} of {plural(len(entries), 'agent')} did not answer)" if len(entries) > 1 else ""
            self.say("The table shows the last known state.")
            raise LoomError(f"{first.what}{more}", on=first.on, try_=first.try_)
        return self._about(self.bench.agent(arn)) if arn else {}

    @action(lane="catalog")
    def remove(self, form: Form) -> None:
        """Remove an agent from the catalog, and delete its runtime if requested."""
        agent, runtime_too = self.bench.agent(form.text("arn")), form.flag("delete_runtime")
        option = "delete_runtime=True" if runtime_too else ""
        self.show_code(f"{connect_code(self.bench)}bench.agent({agent.name!r}).remove({option})")
        agent.remove(delete_runtime=runtime_too)
        self._put_agents()
        self.announce()
        self.say(
            f"{agent.name} was removed from the catalog, and its runtime was deleted."
            if runtime_too
            else f"{agent.name} was removed from the catalog; its runtime stays deployed."
        )

    @action(lane="view")
    def describe(self, form: Form) -> Mapping[str, Any]:
        """Return the details of one agent."""
        agent = self.bench.agent(form.text("arn"))
        self.show_code(f"{connect_code(self.bench)}agent = bench.agent({agent.name!r})\nagent")
        return self._about(agent)

    @action(lane="view")
    def details(self, form: Form) -> Mapping[str, Any]:
        """Return the details of an open agent; empty when it is no longer in the catalog."""
        try:
            return self._about(self.bench.agent(form.text("arn")))
        except AgentNotFoundError:
            return {}

    # Internal methods.

    def _register(self, bench: Workbench, arn: str) -> Mapping[str, Any]:
        self.show_code(f"{connect_code(bench)}agent = bench.register({arn!r})")
        agent = bench.register(arn)
        if bench is self.bench:
            self._put_agents()
        self.announce()
        self.say(f"{agent.name} is in the catalog: {agent.status}, {agent.entry.runtime_id}.")
        return self._about(agent)

    def _change_bench(self, bench: Workbench) -> None:
        former, self.bench = self.bench, bench
        if former is not self._bench_argument:
            former.close()
        self._show_place()
        self._put_agents()

    def _show_place(self) -> None:
        self.show(
            where=self.bench.where,
            region=self.bench.clients.region,
            labels=list(self.bench.context.labels),
            away=self.bench is not self._bench_argument,
        )

    def close(self) -> None:
        """Close the panel and the AWS connection that it opened."""
        super().close()
        if self.bench is not getattr(self, "_bench_argument", self.bench):
            self.bench.close()

    def read_again(self) -> None:
        """Reload the catalog if agents were added, removed or changed."""
        if frame_rows(self.bench.agents()) != list(self.tables.rows("agents")):
            self._put_agents(quiet=True)

    def _about(self, agent: Agent) -> dict[str, Any]:
        entry, prompt = agent.entry, agent.targets.sample_prompt
        facts = {
            "status": entry.status,
            "runtime id": entry.runtime_id,
            "ARN": str(entry.arn),
            "qualifiers": ", ".join(entry.qualifiers),
            "version": str(entry.raw_metadata.get("agentRuntimeVersion") or "–"),
            "platform": str(entry.raw_metadata.get("platformVersion") or "–"),
            "callers": _callers(entry.raw_metadata.get("authorizerConfiguration")),
            "log group": entry.log_group(agent.qualifier),
        }
        call = f"bench.agent({agent.name!r}).invoke({prompt!r}).text"
        return {"name": agent.name, "arn": str(entry.arn), "gone": entry.is_deleted, "facts": facts, "try": call}

    def _put_agents(self, *, quiet: bool = False) -> None:
        rows = frame_rows(self.bench.agents())
        self.send_message("agents", count=self.tables.put("agents", rows))
        self.show(count=len(rows))
        if not (quiet and self.state.get("deployment", {}).get("state") == "running"):
            self.say(_sentence(rows))

    def static_html(self) -> Markup | str:
        """Return the catalog."""
        rows = self.tables.rows("agents")
        values = [[row.get(name) for name in _COLUMNS] for row in rows[:50]]
        return static_summary(tables=[([name.replace("_", " ") for name in _COLUMNS], values)])


def _callers(configuration: object) -> str:
    """Return who may call a runtime, from its authorizer's configuration."""
    jwt = as_mapping(as_mapping(configuration).get("customJWTAuthorizer"))
    if not jwt:
        return "AWS identities (SigV4)"
    kinds = (("allowedAudience", "audience"), ("allowedClients", "client"), ("allowedScopes", "scope"))
    rules = [f"{name} {', '.join(map(str, as_list(jwt.get(key))))}" for key, name in kinds if jwt.get(key)]
    rules += ["claims"] if jwt.get("customClaims") else []
    return f"tokens of {as_text(jwt.get('discoveryUrl'))}" + (f" ({'; '.join(rules)})" if rules else "")


def _sentence(rows: list[dict[str, Any]]) -> str:
    if not rows:
        return "No agents yet."
    others = [row for row in rows if row["status"] != "READY"]
    if not others:
        return f"{plural(len(rows), 'agent')} in the catalog, all READY."
    examples = ", ".join(f"{row['name']} is {row['status']}" for row in others[:3])
    return f"{plural(len(rows), 'agent')} in the catalog: {examples}{' …' if len(others) > 3 else '.'}"


def _variables(text: str) -> dict[str, str]:
    """Parse `NAME=value` lines. An error names only the line number, since the line may contain a secret."""
    variables: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        name, equals, value = line.partition("=")
        if not equals or not _VARIABLE.fullmatch(name.strip()):
            raise LoomError(
                "An environment variable must have the form NAME=value",
                on=f"line {number} of the environment",
                try_="one variable per line, such as QUERY_SECONDS=2",
            )
        variables[name.strip()] = value.strip()
    return variables


def _settings(form: Form) -> dict[str, Any]:
    """Return the runtime's settings from the form, as arguments of `bench.deploy`."""
    settings: dict[str, Any] = {}
    for item in ("platform_version", "warmup", "protocol", "storage"):
        if text := form.text(item).strip():
            settings[item] = text
    for item, label in (("idle_timeout_s", "Idle time-out"), ("max_lifetime_s", "Maximum lifetime")):
        text = form.text(item).strip()
        if not text:
            continue
        if not text.isdecimal():
            raise LoomError(f"{label} must be a whole number of seconds", on=repr(text[:40]), try_="900")
        settings[item] = int(text)
    return settings


def _authorizer(form: Form) -> JwtAuthorizer | Literal["local"] | None:
    """Return the authorizer from the form: None for signed requests, "local" for the local issuer."""
    kind = form.text("authorizer")
    if kind in ("", "local"):
        return "local" if kind else None
    address = form.text("discovery_url").strip()
    if not address:
        raise LoomError(
            "The authorizer needs its issuer's address",
            on="no discovery URL is given",
            try_="https://…/.well-known/openid-configuration",
        )
    audience, clients, scopes = (
        form.text(name).replace(",", " ").split() for name in ("audience", "clients", "scopes")
    )
    try:
        return JwtAuthorizer(discovery_url=address, audience=audience, clients=clients, scopes=scopes)
    except ValueError:
        raise LoomError(
            "The authorizer has no rule",
            on=address[:200],
            try_="at least one audience, client or scope that a token must have",
        ) from None


def _deploy_code(
    source: str,
    name: str,
    memory: str,
    environment: Mapping[str, str],
    settings: Mapping[str, Any],
    authorizer: JwtAuthorizer | Literal["local"] | None,
) -> str:
    """Return the deploy call as Python.

    Values of variables may be secrets, so the code reads them from the reader's own environment.
    """
    arguments = [repr(source)]
    arguments += [f"name={name!r}"] if name else []
    arguments += [f"memory={memory!r}"] if memory else []
    arguments += [f"{key}={value!r}" for key, value in settings.items()]
    if isinstance(authorizer, JwtAuthorizer):
        rules = ("audience", "clients", "scopes")
        parts = [f"{rule}={list(getattr(authorizer, rule))!r}" for rule in rules if getattr(authorizer, rule)]
        arguments += [
            f"authorizer=loom.JwtAuthorizer({', '.join([f'discovery_url={authorizer.discovery_url!r}', *parts])})"
        ]
    elif authorizer:
        arguments += [f"authorizer={authorizer!r}"]
    if not environment:
        return f"agent = bench.deploy({', '.join(arguments)})"
    values = ", ".join(f"{key!r}: os.environ[{key!r}]" for key in environment)
    return f"import os\n\nagent = bench.deploy({', '.join([*arguments, f'environment={{{values}}}'])})"
