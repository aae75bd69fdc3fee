"""The examples of Bedrock Agents that ship with Loom: folders with a declaration and the files that it names."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from ..errors import ResourceNotFoundError
from ..evals import EvalCase, EvalSet
from ..evals.values.cases import EvaluatorChoice, Turn
from ..toml_files import read_toml

_FOLDER: Final = Path(__file__).parent.parent / "bedrock_examples"
_FILE: Final = "example.toml"


def example_names() -> list[str]:
    """Return the names of the examples."""
    return sorted(file.parent.name for file in _FOLDER.glob(f"*/{_FILE}"))


def read_example(name: str) -> Mapping[str, Any]:
    """Return the declaration of an example, with the texts of its files.

    Args:
        name: Its name, such as `shop`.

    Raises:
        ResourceNotFoundError: There is no such example.
    """
    if name not in example_names():
        raise ResourceNotFoundError(
            "There is no such example of Bedrock Agents", on=name, try_=f"one of {', '.join(example_names())}"
        )
    folder = _FOLDER / name
    declaration = read_toml(folder / _FILE, "declaration of an example")
    for kind in ("functions", "objects"):
        declaration[kind] = {key: _text(folder / str(file)) for key, file in declaration.get(kind, {}).items()}
    declaration["knowledge_bases"] = {
        key: {file.stem: _text(file) for file in sorted((folder / str(documents)).glob("*.md"))}
        for key, documents in declaration.get("knowledge_bases", {}).items()
    }
    return declaration


def example_cases(name: str) -> EvalSet:
    """Return the prompts of an example as an eval set, with results of the calls that its agent returns.

    Each case checks what a good answer contains.

    Args:
        name: Its name, such as `shop`.

    Raises:
        ResourceNotFoundError: There is no such example.
    """
    prompts: list[Mapping[str, Any]] = read_example(name)["prompts"]
    cases = [
        EvalCase(
            id=prompt["id"],
            turns=(Turn(prompt=prompt["text"]),),
            initial_state={"returnControl": dict(prompt["results"])} if "results" in prompt else {},
            evaluators=(EvaluatorChoice(name="contains", options={"texts": tuple(prompt["contains"])}),),
        )
        for prompt in prompts
    ]
    return EvalSet(name=name, cases=tuple(cases))


def _text(file: Path) -> str:
    return file.read_text("utf-8")
