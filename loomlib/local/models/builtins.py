"""Loom's own models, given through the same hook as a plugin's; each is imported when it is made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loomlib.plugins import hookimpl

if TYPE_CHECKING:
    from loomlib.local.models.registry import ConverseModel, ModelFactory


def _scripted(profile: str, url: str | None) -> ConverseModel:
    from loomlib.local.models.scripted_model import ScriptedModel

    return ScriptedModel(profile=profile)


def _openai(profile: str, url: str | None) -> ConverseModel:
    from loomlib.local.models.openai_model import OpenAiModel

    return OpenAiModel(url=url)


@hookimpl
def loom_models() -> dict[str, ModelFactory]:
    """A deterministic model whose times are simulated, and whatever speaks OpenAI's protocol at an address."""
    return {"scripted": _scripted, "openai": _openai}
