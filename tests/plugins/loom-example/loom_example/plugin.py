"""The hooks. What takes time to import is imported by the factories."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from loomlib.plugins import hookimpl

HERE = Path(__file__).resolve().parent


def is_polite(answer: str) -> bool:
    """An evaluator may be a plain function of the answer."""
    return "please" in answer.lower() or "thank" in answer.lower()


def make_wordy(least: int = 3) -> Callable[[str], bool]:
    """Or be made from options: "example_wordy(least=2)"."""
    return lambda answer: len(answer.split()) >= least


def make_model(profile: str, url: str | None) -> Any:
    from .model import Parrot

    return Parrot()


def make_panel(bench: Any, **options: Any) -> Any:
    from .panel import Clock

    return Clock(bench, **options)


def make_spans() -> Any:
    from .spans import made_up

    return made_up


def make_command() -> Any:
    from .command import hello

    return hello


def make_rule() -> Any:
    from .rule import rule

    return rule()


@hookimpl
def loom_evaluators() -> Mapping[str, Callable[..., Any]]:
    return {"example_polite": is_polite, "example_wordy": make_wordy}


@hookimpl
def loom_models() -> Mapping[str, Callable[..., Any]]:
    return {"example_parrot": make_model}


@hookimpl
def loom_panels() -> Mapping[str, Callable[..., Any]]:
    return {"example_clock": make_panel}


@hookimpl
def loom_reports() -> Mapping[str, Path]:
    return {"example_report": HERE / "example_report.ipynb"}


@hookimpl
def loom_blueprints() -> Mapping[str, Path]:
    return {"example_greeter": HERE / "greeter"}


@hookimpl
def loom_span_sources() -> Mapping[str, Callable[..., Any]]:
    return {"example_spans": make_spans}


@hookimpl
def loom_commands() -> Mapping[str, Callable[..., Any]]:
    return {"example-hello": make_command}


@hookimpl
def loom_rules() -> Mapping[str, Callable[..., Any]]:
    return {"example_rule": make_rule}
