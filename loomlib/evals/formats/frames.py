"""Eval sets as DataFrames and as plain rows: the columns of `rows`, with Python values in the cells."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, cast

from ..values.eval_set import EvalSet
from .fields import Fields, report_duplicates
from .native import MARK, read_case, read_head, set_fields
from .problems import Problems
from .rows import COLUMNS, canonical, case_documents, rows_of

if TYPE_CHECKING:
    import pandas as pd

_ATTRIBUTE: Final = "loom_evalset"


def to_frame(evalset: EvalSet) -> pd.DataFrame:
    """Return one row per turn. The set's own fields are in `frame.attrs`, which most pandas operations preserve."""
    import pandas as pd

    rows = [row for case in evalset.cases for row in rows_of(case)]
    used = {name for row in rows for name in row} | {"id", "prompt", "expected_answer"}
    columns = [name for name in COLUMNS if name in used]
    values = [[row.get(name) for name in columns] for row in rows]
    frame = pd.DataFrame(values, columns=pd.Index(columns), dtype=object)
    frame.attrs[_ATTRIBUTE] = set_fields(evalset)
    return frame


def from_frame(frame: pd.DataFrame, *, name: str | None = None) -> EvalSet:
    """Return the set of a DataFrame with at least a `prompt` column.

    Args:
        frame: One row per turn.
        name: The set's name; None uses the frame's.

    Raises:
        InvalidEvalSetError: Rows are invalid; lists each of them.
    """
    columns = [str(column) for column in frame.columns]
    rows = (dict(zip(columns, values, strict=True)) for values in frame.itertuples(index=False, name=None))
    head: Any = frame.attrs.get(_ATTRIBUTE)
    return _read(rows, columns, name, head if isinstance(head, Mapping) else {})  # pyright: ignore[reportUnknownArgumentType]


def from_rows(rows: Iterable[Mapping[str, Any]], *, name: str = "rows") -> EvalSet:
    """Return an eval set created from dicts, each with at least a `prompt`; common synonyms of columns are accepted.

    Args:
        rows: One dict per turn.
        name: The set's name.
    """
    return _read(rows, None, name, {})


def _read(
    rows: Iterable[Mapping[str, Any]], columns: list[str] | None, name: str | None, head: Mapping[str, Any]
) -> EvalSet:
    problems = Problems(name or "DataFrame")
    fields = Fields({MARK: 1, **head}, (), problems)
    set_values = read_head(fields, name or "frame")
    if name is not None:
        set_values["name"] = name
    if columns is not None and "prompt" not in canonical(columns).values():
        problems.add(("columns",), "there is no prompt column", "rename one of the columns to prompt")
    problems.raise_if_any()
    plain_rows = ((None, {str(key): _cell(value) for key, value in row.items()}) for row in rows)
    cases = [
        read_case(document, ("cases", n), problems)
        for n, (_, document) in enumerate(case_documents(plain_rows, problems))
    ]
    report_duplicates([case.id if case else None for case in cases], ("cases",), "id", problems)
    problems.raise_if_any()
    return EvalSet(cases=tuple(case for case in cases if case), **set_values)


def _cell(value: Any) -> Any:
    """Return a cell as a plain Python value; missing values of pandas and numpy become None."""
    if value is None or isinstance(value, (str, int, bool, list, tuple, Mapping)):
        return cast("Any", value)
    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    unpacked = getattr(value, "tolist", None)  # numpy's scalars and arrays, which have no truth value
    if callable(unpacked):
        value = unpacked()
    return None if value != value else value
