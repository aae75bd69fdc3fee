"""The cases that both agents are asked: an eval set, a file, or prompts."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from loomlib.errors import EvalError
from loomlib.evals import EvalCase, EvalSet
from loomlib.evals.values.cases import Turn
from loomlib.evals.values.digests import digest_of

CasesSource = EvalSet | str | PathLike[str] | Sequence[str]
"""An eval set; the path of one, or of a text file with one prompt per line; or prompts."""


def cases_of(source: CasesSource, *, name: str = "prompts") -> EvalSet:
    """Return the cases of a set, of a file or of prompts.

    Args:
        source: An eval set; the path of one in any format that `EvalSet.read` knows, or of a text file with one prompt
            in each line (empty lines and lines that begin with # are left out); or prompts.
        name: The set's name, if prompts are given.

    Raises:
        EvalError: There is no such file, or it has no prompts.
        InvalidEvalSetError: The file is not an eval set.
    """
    if isinstance(source, EvalSet):
        return source
    if isinstance(source, (str, PathLike)):
        path = Path(source).expanduser()
        if path.suffix != ".txt":
            return EvalSet.read(str(source))
        if not path.is_file():
            raise EvalError("There is no such file of prompts", on=str(source), try_="a text file, or an eval set")
        lines = [line.strip() for line in path.read_text("utf-8").splitlines()]
        return _of_prompts([line for line in lines if line and not line.startswith("#")], path.stem)
    return _of_prompts(list(source), name)


def _of_prompts(prompts: Sequence[str], name: str) -> EvalSet:
    distinct = [prompt for prompt in dict.fromkeys(prompts) if prompt.strip()]
    if not distinct:
        raise EvalError("There is no prompt", on=name, try_="one prompt in each line")
    cases = [EvalCase(id=f"prompt-{digest_of(prompt)[:10]}", turns=(Turn(prompt=prompt),)) for prompt in distinct]
    return EvalSet(name=name, cases=tuple(cases))
