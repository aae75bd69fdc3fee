"""The diagnosis rules as data: the shipped table, a user's changes, and rules of plugins."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loomlib.errors import PluginError
from loomlib.presentation.formats import exact
from loomlib.presentation.text import one_line

from . import model_rules, outside_rules, prompt_rules, session_rules, tool_rules, wait_rules
from .case import InvocationCase
from .finding import FindingDraft, LatencyFinding
from .overrides import override, read_table

if TYPE_CHECKING:
    from loomlib.plugins import Plugins

FILE = "rules.toml"
Thresholds = Mapping[str, float]
RuleCheck = Callable[[InvocationCase, Thresholds], FindingDraft | None]
SessionCheck = Callable[[Sequence[InvocationCase], Thresholds], FindingDraft | None]

CHECKS: Mapping[str, RuleCheck] = {
    check.__name__: check
    for check in (
        model_rules.too_many_cycles,
        prompt_rules.token_growth,
        prompt_rules.large_prompt,
        model_rules.slow_first_token,
        model_rules.slow_output,
        model_rules.long_output,
        tool_rules.slow_tool,
        tool_rules.serial_tools,
        tool_rules.oversized_result,
        outside_rules.cold_start,
        wait_rules.throttling_retries,
        wait_rules.failed_attempts,
        wait_rules.chatty_memory,
        wait_rules.slow_memory,
        wait_rules.agent_overhead,
        outside_rules.network,
        outside_rules.slow_client,
    )
}
SESSION_CHECKS: Mapping[str, SessionCheck] = {"growing_history": session_rules.growing_history}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule of a diagnosis; it has a `check`, a `session_check` or both.

    Attributes:
        name: Its name.
        title: The finding in a sentence, with placeholders in braces that the check's values fill.
        asks: The question it answers.
        source: Where it and its thresholds come from.
        try_: What to try.
        thresholds: Its thresholds by name.
        check: A pure function of a case and the thresholds.
        session_check: A pure function of a session's cases, in order, and the thresholds.
    """

    name: str
    title: str
    asks: str = ""
    source: str = ""
    try_: tuple[str, ...] = ()
    thresholds: Thresholds = field(default_factory=dict[str, float])
    check: RuleCheck | None = None
    session_check: SessionCheck | None = None

    def __post_init__(self) -> None:
        if self.check is None and self.session_check is None:
            raise ValueError(f"the rule {self.name!r} has no check")

    def finding(self, draft: FindingDraft, *, total_ms: float, trace_ids: tuple[str, ...] = ()) -> LatencyFinding:
        """Return the finding of a draft, with this rule's texts.

        Args:
            draft: What the check returned.
            total_ms: The total in milliseconds, for the share.
            trace_ids: The traces it was found in.
        """
        return LatencyFinding(
            rule=self.name,
            title=_filled(self.title, draft.values),
            ms_at_stake=draft.ms_at_stake,
            share=draft.ms_at_stake / total_ms if total_ms > 0 else 0.0,
            evidence=draft.evidence,
            confidence=draft.confidence,
            because=draft.because,
            try_=self.try_,
            source=self.source,
            trace_ids=trace_ids,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleBook:
    """The rules of a diagnosis.

    Attributes:
        rules: The rules.
        least_ms: Findings with less at stake are not reported.
        least_share: Findings with a smaller share of the whole are not reported.
    """

    rules: tuple[Rule, ...]
    least_ms: float = 100.0
    least_share: float = 0.05

    def __post_init__(self) -> None:
        names = [rule.name for rule in self.rules]
        if duplicates := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"rule names must be unique: {', '.join(duplicates)}")

    def __getitem__(self, name: str) -> Rule:
        for rule in self.rules:
            if rule.name == name:
                return rule
        raise KeyError(name)

    def with_rules(self, *rules: Rule) -> RuleBook:
        """Return a book with these rules added; a rule with an existing name replaces it."""
        names = {rule.name for rule in rules}
        return replace(self, rules=(*(rule for rule in self.rules if rule.name not in names), *rules))

    def without(self, *names: str) -> RuleBook:
        """Return a book without the rules of these names."""
        return replace(self, rules=tuple(rule for rule in self.rules if rule.name not in names))

    def with_plugins(self, plugins: Plugins) -> RuleBook:
        """Return a book with the rules of plugins (`loom_rules`).

        A plugin that fails to make a rule is reported among the problems of each diagnosis and in the list of plugins.
        """
        existing_names = {rule.name for rule in self.rules} | set(CHECKS) | set(SESSION_CHECKS)
        return self.with_rules(
            *(_plugin_rule(plugins, name) for name in plugins.names("rules") if name not in existing_names)
        )

    def table(self) -> list[dict[str, Any]]:
        """Return one row per rule: its question, thresholds, advice and source."""
        return [
            {
                "rule": rule.name,
                "asks": rule.asks,
                "thresholds": ", ".join(f"{name} {exact(value)}" for name, value in rule.thresholds.items()),
                "try": "; ".join(rule.try_),
                "source": rule.source,
            }
            for rule in self.rules
        ]


def rule_book(
    overrides: str | os.PathLike[str] | None = None,
    *,
    home: str | os.PathLike[str] | None = None,
    plugins: Plugins | None = None,
) -> RuleBook:
    """Load the shipped rules, with the user's changes and the rules of plugins.

    Args:
        overrides: A file in the form of `rules.toml`.
        home: Loom's home folder; without `overrides`, its `rules.toml` is read if it exists.
        plugins: The plugins.

    Raises:
        SettingsError: The file cannot be read, or names a rule or threshold that does not exist.
    """
    document = tomllib.loads(resources.files("loomlib.telemetry.diagnosis").joinpath(FILE).read_text("utf-8"))
    path = Path(overrides) if overrides is not None else None
    if path is None and home is not None and (Path(home) / FILE).is_file():
        path = Path(home) / FILE
    if path is not None:
        override(document, read_table(path), str(path))
    general = document["general"]
    book = RuleBook(
        rules=tuple(_rule(name, table) for name, table in document["rules"].items() if table.get("enabled", True)),
        least_ms=float(general["ms"]),
        least_share=float(general["share"]),
    )
    return book if plugins is None else book.with_plugins(plugins)


def _rule(name: str, table: Mapping[str, Any]) -> Rule:
    return Rule(
        name=name,
        title=table["title"],
        asks=table["asks"],
        source=table["source"],
        try_=tuple(table["try"]),
        thresholds={key: float(value) for key, value in table["thresholds"].items()},
        check=CHECKS.get(name),
        session_check=SESSION_CHECKS.get(name),
    )


def _plugin_rule(plugins: Plugins, name: str) -> Rule:
    try:
        rule = plugins.get("rules", name)
        if not isinstance(rule, Rule):
            raise plugins.report("rules", name, f"expected a Rule, not {type(rule).__name__}")
        return replace(rule, name=name)
    except PluginError as error:
        return Rule(name=name, title=name, asks=str(error), check=_FailingCheck(error))


@dataclass(frozen=True, slots=True)
class _FailingCheck:
    """The check of a rule that could not be created: a diagnosis reports its error and continues."""

    error: PluginError

    def __call__(self, case: InvocationCase, thresholds: Thresholds) -> FindingDraft | None:
        raise PluginError(self.error.what, on=self.error.on, try_=self.error.try_)


class _Placeholders(dict[str, str]):
    def __missing__(self, key: str) -> str:
        return f"{{{key}}}"


def _filled(title: str, values: Iterable[tuple[str, str]]) -> str:
    """Fill in a title's placeholders; one without a value stays, so that no title can fail."""
    try:
        return title.format_map(_Placeholders({key: one_line(value) for key, value in values}))
    except (ValueError, IndexError, AttributeError, KeyError):
        return title
