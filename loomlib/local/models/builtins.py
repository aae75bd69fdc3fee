"""Loom's own models, registered through the same hook as a plugin's; each is imported when it is created."""

from __future__ import annotations

from loomlib.plugins import hookimpl

from .registry import ConverseModel, ModelFactory


def _scripted(profile: str, url: str | None) -> ConverseModel:
    from .scripted.model import ScriptedModel

    return ScriptedModel(profile=profile)


def _openai(profile: str, url: str | None) -> ConverseModel:
    from .openai_model import OpenAiModel

    return OpenAiModel(url=url)


def _tiny(profile: str, url: str | None) -> ConverseModel:
    from .tiny.model import TinyModel

    return TinyModel()


@hookimpl
def loom_models() -> dict[str, ModelFactory]:
    """Return Loom's models: scripted, a client of OpenAI's protocol, and a small one that runs locally."""
    return {"scripted": _scripted, "openai": _openai, "tiny": _tiny}
