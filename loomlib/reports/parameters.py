"""A report's parameters: read from its cell tagged `parameters`, checked and typed before anything runs.

papermill only warns about a misspelt name and then runs with the default, which for a nightly report is a wrong
number that looks right. It also writes the values into the executed notebook, so a value must never be a credential.
"""

from __future__ import annotations

import ast
import difflib
import io
import math
import re
import tokenize
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from loomlib.deprecation import warn_renamed
from loomlib.errors import ReportError, UnknownParameterError
from loomlib.presentation.formats import number
from loomlib.presentation.text import one_line

from .notebook import read_notebook, source_of, tags_of

ParameterValue = str | int | float | bool | None

_CREDENTIAL_NAME = re.compile(r"secret|token|passw|credential|api_?key|access_?key|private_?key", re.I)
_CREDENTIAL_VALUE = re.compile(
    r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|-----BEGIN [A-Z ]*PRIVATE KEY-----|^Bearer\s|://[^\s/:@]*:[^\s/@]+@"
)
_HOW_TO_TAG = "tag the one cell that assigns the defaults `parameters` (JupyterLab: Property Inspector, Cell Tags)"
_RENAMED = {("recall_study", "lives"): "conversations"}
_RANGE = re.compile(r"(?:^|; )(-?\d{1,18}) to (-?\d{1,18})$")
"""The end of a comment that states the range of a whole number: `first calls of new sessions; 0 to 100000`."""
_INT64 = (-(2**63), 2**63 - 1)
"""The range of a whole number whose comment does not state one: the range of databases and arrays (64 bits)."""
_TYPES = ("str", "int", "float", "bool")
_TRUTHS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One parameter of a report: its default, its type (from annotation or default), and its comment.

    The comment of a whole number may end with its range, as in `first calls of new sessions; 0 to 100000`.
    """

    name: str
    type_name: str
    default: ParameterValue
    comment: str = ""

    @property
    def range(self) -> tuple[int, int]:
        """The smallest and the largest whole number that the parameter accepts."""
        stated = _RANGE.search(self.comment)
        return (int(stated[1]), int(stated[2])) if stated else _INT64

    def __str__(self) -> str:
        text = f"{self.name}: {self.type_name} = {self.default!r}"
        return f"{text}  # {self.comment}" if self.comment else text


def read_parameters(path: str | Path) -> tuple[Parameter, ...]:
    """Return a notebook's parameters in order; none when no cell has the tag `parameters`.

    Raises:
        ReportError: Several cells have the tag: papermill would fill in the first, and the second would overwrite it.
    """
    tagged = [cell for cell in read_notebook(Path(path)).cells if "parameters" in tags_of(cell)]
    if len(tagged) > 1:
        raise ReportError(
            f"The notebook has {len(tagged)} cells tagged `parameters`, and a report has one at most",
            on=str(path),
            try_=_HOW_TO_TAG,
        )
    if not tagged:
        return ()
    source = source_of(tagged[0])
    try:
        comments = _comments(source)
        parameters = [_parameter(statement, comments, str(path)) for statement in ast.parse(source).body]
    except (SyntaxError, ValueError, tokenize.TokenError, RecursionError, MemoryError) as error:
        raise ReportError(
            f"The parameters cell is not Python: {error}", on=str(path), try_="lines such as: cold: int = 10"
        ) from error
    return tuple(parameter for parameter in parameters if parameter is not None)


def describe_parameters(parameters: Sequence[Parameter]) -> str:
    """Return the parameters as lines of text: name, type, default, comment."""
    return "\n".join(f"  {parameter}" for parameter in parameters)


def bind_parameters(
    parameters: Sequence[Parameter], values: Mapping[str, ParameterValue], *, report: str = "report"
) -> dict[str, ParameterValue]:
    """Convert the passed values to the parameters' types; parameters without a value are left out.

    Args:
        parameters: The notebook's parameters.
        values: Values by name.
        report: The report's name, for messages.

    Raises:
        UnknownParameterError: The notebook has no parameter of that name.
        ReportError: A value has the wrong type, is outside its range, or looks like a credential (the executed notebook
            shows parameters).
    """
    by_name = {parameter.name: parameter for parameter in parameters}
    bound: dict[str, ParameterValue] = {}
    for name, value in _renamed(values, report).items():
        if _CREDENTIAL_NAME.search(name) or (isinstance(value, str) and _CREDENTIAL_VALUE.search(value)):
            raise ReportError(
                "Refused: a parameter looks like a credential, and parameters stay in the executed notebook",
                on=name,
                try_="AWS's own credentials chain: a profile, or environment variables",
            )
        if name not in by_name:
            close = difflib.get_close_matches(name, by_name, n=1)
            hint = f"{close[0]}? " if close else ""
            raise UnknownParameterError(
                f"{report} has no parameter {name!r}",
                on=f"{name}={value}",
                try_=f"{hint}It has:\n{describe_parameters(parameters)}" if parameters else _HOW_TO_TAG,
            )
        bound[name] = _coerce(by_name[name], value)
    return bound


def _renamed(arguments: Mapping[str, ParameterValue], report: str) -> dict[str, ParameterValue]:
    """Rename old parameter names, which are still accepted."""
    values: dict[str, ParameterValue] = {}
    for name, value in arguments.items():
        new = _RENAMED.get((report, name), name)
        if new != name:
            warn_renamed(f"{report}'s parameter {name}", new, stacklevel=4)
        values[new] = value
    return values


def _comments(source: str) -> dict[int, str]:
    """Return the comment at the end of each line, by line number.

    papermill's own parser fails on a `=` in a comment.
    """
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return {token.start[0]: token.string.lstrip("# ").rstrip() for token in tokens if token.type == tokenize.COMMENT}


def _parameter(statement: ast.stmt, comments: Mapping[int, str], path: str) -> Parameter | None:
    match statement:
        case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation, value=ast.expr() as value):
            declared = ast.unparse(annotation)
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            declared = ""
        case _:
            return None
    try:
        default = ast.literal_eval(value)
    except ValueError:
        default = ()
    if default is not None and not isinstance(default, str | int | float | bool):
        raise ReportError(
            f"The default of {name} is neither a string nor a number",
            on=f"{ast.unparse(value)} in {path}",
            try_="for a list, a comma-separated string",
        )
    types = [name for name in declared.replace("|", " ").split() if name in _TYPES]
    type_name = types[0] if types else "str" if default is None else type(default).__name__
    return Parameter(
        name=name, type_name=type_name, default=default, comment=comments.get(statement.end_lineno or 0, "")
    )


def _coerce(parameter: Parameter, value: ParameterValue) -> ParameterValue:
    if value is None:
        return None
    text = str(value).strip()
    try:
        if parameter.type_name == "bool":
            return _TRUTHS[text.lower()]
        if parameter.type_name == "int":
            least, most = parameter.range
            if not least <= (count := int(text)) <= most:
                raise ValueError(text)
            return count
        if parameter.type_name == "float":
            amount = float(text)
            if not math.isfinite(amount):
                raise ValueError(text)
            return amount
    except (ValueError, KeyError) as error:
        accepted = {"bool": "true or false", "int": "a whole number", "float": "a number"}[parameter.type_name]
        if parameter.type_name == "int" and _RANGE.search(parameter.comment):
            accepted += " from {} to {}".format(*map(number, parameter.range))
        elif parameter.type_name == "int":
            accepted += " of at most 64 bits"
        raise ReportError(
            f"The parameter {parameter.name} takes {accepted}",
            on=one_line(f"{parameter.name}={value}"),
            try_=f"-p {parameter.name}={parameter.default}",
        ) from error
    return str(value)
