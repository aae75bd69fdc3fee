"""How a run is stored when it begins, and that it goes on only as what it began as."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

from loomlib.errors import EvalError

from ..targets import Target
from ..values.eval_set import EvalSet
from .options import RunOptions
from .panel import Choice, Panel

if TYPE_CHECKING:
    from loomlib.store import EvalRunRow


def check_same(stored: EvalRunRow, row: EvalRunRow) -> None:
    """A run goes on only as what it began as."""
    for what, old, new in (
        ("set", stored.set_digest, row.set_digest),
        ("target", stored.target_key, row.target_key),
        ("number of repeats", stored.repeats, row.repeats),
        ("evaluators", stored.design.get("evaluators"), _plain(row.design.get("evaluators"))),
    ):
        if _plain(old) != _plain(new):
            raise EvalError(
                f"The evaluation was begun with another {what}"
                if what[-1] != "s"
                else f"It was begun with other {what}",
                on=row.id,
                try_="leave run_id out: answers and scores that still fit are used again",
            )


def _plain(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in cast("Sequence[Any]", value)]
    return value


def new_row(
    id: str,
    name: str,
    evalset: EvalSet,
    asked: Target,
    given: Any,
    panel: Panel,
    manner: RunOptions,
    chosen: Sequence[Choice],
) -> EvalRunRow:
    """The row of a run that begins now."""
    from loomlib.store import EvalRunRow

    return EvalRunRow(
        id=id,
        name=name or None,
        set_digest=evalset.digest,
        target_name=asked.name,
        target_key=asked.key,
        scope=getattr(given, "scope", None),
        agent_arn=getattr(given, "arn", None),
        repeats=manner.repeats,
        created_at=datetime.now(UTC),
        labels=tuple(asked.labels),
        design={
            **panel.bench.stored(),
            "set_name": evalset.name,
            "chosen": [each for each in chosen if isinstance(each, str)],
            "concurrency": manner.concurrency,
            "timeout_s": manner.timeout_s,
            "retries": manner.retries,
            "budget": asdict(manner.budget),
        },
    )
