"""Presidio's recognizers as a finder: names, places and other data that patterns cannot find."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from typing import Any, Final

from ...errors import MissingExtraError

ENTITIES: Final = ("PERSON", "LOCATION", "NRP", "MEDICAL_LICENSE", "US_DRIVER_LICENSE", "UK_NHS")
"""Entities that Loom's own rules do not find."""


def presidio_finder(
    *, language: str = "en", entities: Sequence[str] = ENTITIES, score_from: float = 0.5, analyzer: Any = None
) -> Callable[[str], Iterable[Any]]:
    """Return a finder for `Redactor(finders=[...])` and `memory.health(presidio=True)`.

    Args:
        language: Language code of the texts.
        entities: Presidio's names of the entities to find.
        score_from: The minimum score of a result.
        analyzer: An `AnalyzerEngine` of your own.

    Raises:
        MissingExtraError: presidio-analyzer or its language model is not installed.
    """
    engine = analyzer if analyzer is not None else _engine()

    def find(text: str) -> Iterable[Any]:
        return engine.analyze(text=text, language=language, entities=list(entities), score_threshold=score_from)

    return find


def _engine() -> Any:
    try:
        module: Any = import_module("presidio_analyzer")
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            f"Presidio's recognizers need {error.name}",
            try_="pip install presidio-analyzer && python -m spacy download en_core_web_lg; "
            "without it Loom's own rules find secrets, addresses and numbers",
        ) from error
    try:
        return module.AnalyzerEngine()
    except (OSError, ImportError, SystemExit) as error:
        raise MissingExtraError(
            f"Presidio has no language model: {error}", try_="python -m spacy download en_core_web_lg"
        ) from error
