"""Cases as rows of a table, one per turn, and rows as cases: shared by CSV, DataFrames and simple JSON Lines.

| column | holds |
|---|---|
| `id` | the case's id; rows of one case are adjacent; `case-<n>` where the table has none |
| `turn` | 1, 2, … for the turns of one case; empty (or no such column) when every row is a case of its own |
| `prompt` | the text sent to the agent (a scenario's starting prompt) |
| `expected_answer` | what it should answer |
| `expected_tools` | names (`a; b`, `[]` for none at all), or a JSON list of names and `{"name", "arguments", …}` |
| `expected_texts`, `payload`, `turn_rubrics` | of the turn; JSON |
| `assertions`, `rubrics` | a text, or a JSON list |
| `tags`, `forbidden_tools` | `a; b`, or a JSON list |
| `initial_state`, `final_state`, `scenario`, `metadata` | a JSON object |
| `reference_tokens`, `reference_steps` | whole numbers |
| `evaluators` | names (`a; b`), or a JSON list |
| `session_tools` | the tools expected of the whole conversation, as `expected_tools` |
| `expected_interactions` | a JSON list |
| `source` | where the case came from |

Values that apply to the whole case are in the row of its first turn. Unknown columns go into the metadata. Common
synonyms (`input`, `question`, `expected`, `reference`, `tools`, `name`, …) are accepted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, cast

from ..values.cases import EvalCase
from .json_text import cell
from .native import case_fields
from .problems import Problems, display_value

TURN_COLUMNS: Final = ("prompt", "expected_answer", "expected_tools", "expected_texts", "payload", "turn_rubrics")
CASE_COLUMNS: Final = (
    "assertions", "rubrics", "tags", "initial_state", "final_state", "forbidden_tools", "reference_tokens",
    "reference_steps", "evaluators", "session_tools", "expected_interactions", "scenario", "metadata", "source",
)  # fmt: skip
COLUMNS: Final = ("id", "turn", *TURN_COLUMNS, *CASE_COLUMNS)

TEXT_COLUMNS: Final = frozenset(("id", "prompt", "expected_answer", "source"))
_SPLIT: Final = frozenset(("tags", "forbidden_tools", "expected_tools", "session_tools", "evaluators"))
_LISTS: Final = _SPLIT | {"assertions", "rubrics", "turn_rubrics", "expected_texts", "expected_interactions"}
_OBJECTS: Final = frozenset(("payload", "initial_state", "final_state", "scenario", "metadata"))

_OTHER_NAMES: Final = {
    "id": ("case_id", "eval_id", "name"),
    "prompt": ("input", "question", "query", "user_input"),
    "expected_answer": ("expected", "expected_output", "expected_response", "reference", "answer", "reference_answer"),
    "expected_tools": ("tools", "expected_trajectory"),
    "tags": ("tag", "labels"),
}


def rows_of(case: EvalCase) -> Iterator[dict[str, Any]]:
    """Return the rows of a case: plain values by column, without missing ones."""
    fields = case_fields(case)
    turns: list[dict[str, Any]] = fields.pop("turns", [])
    scenario: dict[str, Any] | None = fields.get("scenario")
    if scenario is not None:
        turns = [{"prompt": scenario.pop("starting_prompt")}]
    for n, turn in enumerate(turns):
        row: dict[str, Any] = {"id": fields["id"], "turn": n + 1} if len(turns) > 1 else {"id": fields["id"]}
        if "rubrics" in turn:
            turn["turn_rubrics"] = turn.pop("rubrics")
        row.update(turn)
        if n == 0:
            row.update(fields)
        yield row


def canonical(columns: Iterable[str]) -> dict[str, str]:
    """Return the column of each name in a table, without unknown names."""
    names = list(columns)
    columns_by_name = {name: name for name in names if name in COLUMNS}
    for column, others in _OTHER_NAMES.items():
        if column not in columns_by_name:
            standard = next((name for name in others if name in names), None)
            if standard is not None:
                columns_by_name[standard] = column
    return columns_by_name


def case_documents(
    rows: Iterable[tuple[int | None, Mapping[str, Any]]], problems: Problems, *, start: int = 0
) -> Iterator[tuple[int | None, dict[str, Any]]]:
    """Yield the documents of cases (Loom's format) of the rows, each with the line of its first row.

    Cells hold plain values or their text; a missing value is None. Rows that cannot be read are reported as problems.

    Args:
        rows: The rows, each with its line in the file if it has one.
        problems: Collects the problems.
        start: Number of preceding cases; missing ids are numbered from there.
    """
    current: dict[str, Any] | None = None
    current_line: int | None = None
    count = start
    for n, (line, row) in enumerate(rows):
        cells = _cells(row, n, line, problems)
        if cells is None:
            continue
        turn = cells.pop("turn", None)
        id = cells.get("id")
        goes_on = current is not None and turn is not None and turn > 1 and id in (None, current["id"])
        if not goes_on:
            if current is not None:
                yield current_line, current
            count += 1
            if turn not in (None, 1):
                problem = f"turn {turn} of {display_value(id)} does not follow a turn {turn - 1}"
                problems.add(("rows", n, "turn"), problem, "keep the turns of a case together, in order", line=line)
            current, current_line = _new_case(cells, count), line
        elif current is not None:
            _add_turn(current, cells, turn or 0, n, line, problems)
    if current is not None:
        yield current_line, current


def _new_case(cells: dict[str, Any], count: int) -> dict[str, Any]:
    turn = {name: cells.pop(name) for name in TURN_COLUMNS if name in cells}
    if "turn_rubrics" in turn:
        turn["rubrics"] = turn.pop("turn_rubrics")
    case: dict[str, Any] = {"id": f"case-{count}", **cells}
    if isinstance(case.get("scenario"), Mapping):
        case["scenario"] = {"starting_prompt": turn.pop("prompt", None), **case["scenario"], **turn}
    else:
        case["turns"] = [turn]
    return case


def _add_turn(
    case: dict[str, Any], cells: dict[str, Any], turn: int, n: int, line: int | None, problems: Problems
) -> None:
    turns: list[dict[str, Any]] = case.setdefault("turns", [])
    if turn != len(turns) + 1:
        problem = f"turn {turn} of {display_value(case['id'])} follows turn {len(turns)}"
        problems.add(("rows", n, "turn"), problem, "number the turns of a case 1, 2, 3, …", line=line)
    extra = [name for name in cells if name not in TURN_COLUMNS and name != "id"]
    if extra:
        problem = "this field applies to the whole case"
        problems.add(("rows", n, extra[0]), problem, "put it in the row of the case's first turn", line=line)
    new = {name: value for name, value in cells.items() if name in TURN_COLUMNS}
    if "turn_rubrics" in new:
        new["rubrics"] = new.pop("turn_rubrics")
    turns.append(new)


def _cells(row: Mapping[str, Any], n: int, line: int | None, problems: Problems) -> dict[str, Any] | None:
    columns_by_name = canonical(row)
    cells: dict[str, Any] = {}
    more: dict[str, Any] = {}
    for name, value in row.items():
        column = columns_by_name.get(name)
        if value is None:
            continue
        if column is None:
            more[name] = value
            continue
        try:
            cells[column] = value_of(column, value)
        except ValueError as problem:
            problems.add(("rows", n, name), str(problem), "see the columns of an eval set's table", line=line)
            return None
    metadata = cells.get("metadata")
    if metadata is not None and not isinstance(metadata, Mapping):
        problems.add(("rows", n, "metadata"), f"{type(metadata).__name__} is not an object", "name → value", line=line)
        return None
    if more:
        cells["metadata"] = {**more, **cast("dict[str, Any]", cells.get("metadata") or {})}
    return cells


def value_of(column: str, value: Any) -> Any:
    """Return the plain value of a cell; raise `ValueError` with the reason when it has none."""
    if column in TEXT_COLUMNS:
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        return str(value) if isinstance(value, (int, float)) else value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if column == "turn" and not isinstance(value, str) and (isinstance(value, bool) or not isinstance(value, int)):
        raise ValueError(f"this is {display_value(value)}, not a whole number")
    if not isinstance(value, str):
        return [value] if column in _LISTS and isinstance(value, Mapping) else value
    text = value.strip()
    if column in _OBJECTS or (column in _LISTS and text.startswith("[")):
        return cell(text)
    if column in _SPLIT:
        return [part.strip() for part in text.split(";") if part.strip()]
    if column in _LISTS:
        return [value]
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"this is {display_value(text)}, not a whole number") from None


def joined(column: str, members: Sequence[Any]) -> str | None:
    """Return names as `a; b` if that can be read back unchanged; None if they need JSON."""
    if column not in _SPLIT or not members:
        return None
    if not all(isinstance(name, str) and name and name == name.strip() and ";" not in name for name in members):
        return None
    text = "; ".join(members)
    return None if text.startswith("[") else text
