"""Answers by content, which of them a run uses, and their scores: written in batches, read in bulk."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeAlias, cast

from sqlalchemy import Connection, Table, bindparam, func, select, text, update
from sqlalchemy.dialects import postgresql, sqlite

from .database import Database
from .eval_rows import StoredAnswer, StoredResult, StoredScore
from .eval_tables import eval_answers, eval_results, eval_scores

TakenFigures: TypeAlias = tuple[int, int, float | None, int | None, int | None, float | None]

ResultFace: TypeAlias = tuple[int, int, str | None, bool, str | None]
"""Repeat, place, the judges that failed, whether its answer is a failure, and its trace's id."""
ScoreFace: TypeAlias = tuple[int, int, str, str, float | None, bool | None, str | None, str | None]
"""Repeat, place, the case's and the evaluator's digests, value, passed, part, labels."""
_RESULT_FACE = [
    *(eval_results.c[name] for name in ("repeat", "place", "judge_failures")),
    *(eval_answers.c[name] for name in ("is_failure", "trace_id")),
]
_SCORE_FACE = [
    *(eval_results.c[name] for name in ("repeat", "place")),
    *(eval_scores.c[name] for name in ("case_digest", "evaluator_digest", "value", "passed", "part", "labels")),
]

_FETCHED = 1000
_AT_ONCE = 500
"""Values in one query; SQLite takes a thousand variables at least."""
_ADVISORY_LOCK = 0x4C6F6F6E
_TOOLS_COLUMNS = ("input_tokens", "output_tokens", "tool_calls", "cost", "body")


class EvalAnswers:
    """Every answer that an evaluation was given, and what was said of it."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def by_key(self, keys: Sequence[str]) -> dict[str, StoredAnswer]:
        """The answers that are kept under these keys."""
        found: dict[str, StoredAnswer] = {}
        with self._database.read() as connection:
            for some in _portions(keys):
                for each in connection.execute(select(eval_answers).where(eval_answers.c.key.in_(some))):
                    found[each.key] = StoredAnswer._make(each)
        return found

    def by_id(self, ids: Sequence[int]) -> dict[int, StoredAnswer]:
        """The answers of these ids."""
        found: dict[int, StoredAnswer] = {}
        with self._database.read() as connection:
            for some in _portions(ids):
                for each in connection.execute(select(eval_answers).where(eval_answers.c.id.in_(some))):
                    found[each.id] = StoredAnswer._make(each)
        return found

    def put(self, answers: Sequence[StoredAnswer], results: Sequence[StoredResult]) -> list[StoredAnswer]:
        """Keeps answers and that a run uses them (one result each, in the same order), all or nothing.

        Their ids are given here: those of `answers` and `results` do not count. Where somebody else has kept an answer
        under the same key meanwhile, that one is used and returned.
        """
        with self._database.write() as connection:
            earlier = _earlier(connection, [each.key for each in answers if each.key is not None])
            next_id = _last_id(connection) + 1
            kept: list[StoredAnswer] = []
            new: list[StoredAnswer] = []
            for each in answers:
                other = earlier.get(each.key) if each.key is not None else None
                if other is None:
                    other = StoredAnswer(next_id, *each[1:])
                    next_id += 1
                    new.append(other)
                    if each.key is not None:
                        earlier[each.key] = other
                kept.append(other)
            _insert(connection, eval_answers, new)
            used = [StoredResult(*result[:3], each.id, *result[4:]) for each, result in zip(kept, results, strict=True)]
            _insert(connection, eval_results, used)
        return kept

    def use(self, results: Sequence[StoredResult]) -> None:
        """Notes that a run uses answers that are kept already."""
        if results:
            with self._database.write() as connection:
                _insert(connection, eval_results, results)

    def complete(self, answers: Sequence[StoredAnswer]) -> None:
        """Adds to kept answers what their traces told later: tools, tokens, cost."""
        if not answers:
            return
        change = (
            update(eval_answers)
            .where(eval_answers.c.id == bindparam("of_id"))
            .values({name: bindparam(f"new_{name}") for name in _TOOLS_COLUMNS})
        )
        rows = [
            {"of_id": each.id, **{f"new_{name}": getattr(each, name) for name in _TOOLS_COLUMNS}} for each in answers
        ]
        with self._database.write() as connection:
            connection.execute(change, rows)

    def results(self, run_id: str) -> list[StoredResult]:
        """The run's results, repeat by repeat, in the set's order."""
        chosen = select(eval_results).where(eval_results.c.run_id == run_id)
        with self._database.read() as connection:
            found = connection.execute(chosen.order_by(eval_results.c.repeat, eval_results.c.place))
            return [StoredResult._make(each) for each in found]

    def taken_by_run(self, run_id: str) -> list[TakenFigures]:
        """Repeat, place, duration (ms), tokens read, tokens written and cost (US dollars) of each answer that came."""
        columns = [eval_answers.c[name] for name in ("duration_ms", "input_tokens", "output_tokens", "cost")]
        chosen = (
            select(eval_results.c.repeat, eval_results.c.place, *columns)
            .join(eval_answers, eval_answers.c.id == eval_results.c.answer_id)
            .where(eval_results.c.run_id == run_id, ~eval_answers.c.is_failure)
            .order_by(eval_results.c.repeat, eval_results.c.place)
        )
        with self._database.read() as connection:
            return [cast("TakenFigures", tuple(each)) for each in connection.execute(chosen)]

    def of_run(
        self, run_id: str, *, after: tuple[int, int] = (-1, -1), limit: int
    ) -> list[tuple[StoredResult, StoredAnswer]]:
        """Up to `limit` results of the run behind (repeat, place) with their answers, in their order."""
        repeat, place = after
        chosen = (
            select(eval_results, eval_answers)
            .join(eval_answers, eval_answers.c.id == eval_results.c.answer_id)
            .where(
                eval_results.c.run_id == run_id,
                (eval_results.c.repeat > repeat) | ((eval_results.c.repeat == repeat) & (eval_results.c.place > place)),
            )
            .order_by(eval_results.c.repeat, eval_results.c.place)
            .limit(limit)
        )
        with self._database.read() as connection:
            return [(StoredResult._make(each[:6]), StoredAnswer._make(each[6:])) for each in connection.execute(chosen)]

    def score(self, scores: Sequence[StoredScore], failures: Mapping[tuple[str, int, int], str | None]) -> None:
        """Keeps scores, and in a run's results (run, repeat, place) which judges failed.

        A score that is there already stays as it is: nobody judges the same twice to another end.
        """
        if not scores and not failures:
            return
        with self._database.write() as connection:
            _insert(connection, eval_scores, scores)
            if failures:
                change = (
                    update(eval_results)
                    .where(
                        eval_results.c.run_id == bindparam("of_run"),
                        eval_results.c.repeat == bindparam("of_repeat"),
                        eval_results.c.place == bindparam("of_place"),
                    )
                    .values(judge_failures=bindparam("said"))
                )
                connection.execute(
                    change,
                    [
                        {"of_run": run, "of_repeat": repeat, "of_place": place, "said": said}
                        for (run, repeat, place), said in failures.items()
                    ],
                )

    def scores_of(self, answer_ids: Sequence[int]) -> list[StoredScore]:
        """All scores of these answers."""
        found: list[StoredScore] = []
        with self._database.read() as connection:
            for some in _portions(answer_ids):
                chosen = select(eval_scores).where(eval_scores.c.answer_id.in_(some)).order_by(eval_scores.c.position)
                found.extend(StoredScore._make(each) for each in connection.execute(chosen))
        return found

    @contextmanager
    def said_of_run(self, run_id: str) -> Generator[tuple[Iterator[ResultFace], Iterator[ScoreFace]], None, None]:
        """Side by side, for the block: the faces of the run's results in their order, and those of all scores of the
        answers that it uses, in the same order."""
        of_results = (
            select(*_RESULT_FACE)
            .join(eval_answers, eval_answers.c.id == eval_results.c.answer_id)
            .where(eval_results.c.run_id == run_id)
            .order_by(eval_results.c.repeat, eval_results.c.place)
        )
        of_scores = (
            select(*_SCORE_FACE)
            .join(eval_scores, eval_scores.c.answer_id == eval_results.c.answer_id)
            .where(eval_results.c.run_id == run_id)
            .order_by(
                eval_results.c.repeat, eval_results.c.place, eval_scores.c.evaluator_digest, eval_scores.c.position
            )
        )
        with self._database.read() as connection:
            yield _streamed(connection, of_results), _streamed(connection, of_scores)


def _streamed(connection: Connection, chosen: Any) -> Iterator[Any]:
    """Row after row, fetched many at a time: one by one takes longer than all that is done with them."""
    for some in connection.execute(chosen.execution_options(yield_per=_FETCHED)).partitions():
        yield from some


def _insert(connection: Connection, table: Table, rows: Sequence[Any]) -> None:
    """Rows in the order of the table's columns; a score that is there already stays.

    The driver gets them as they are: what SQLAlchemy does for each row would take longer than storing it.
    """
    if not rows:
        return
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql(_sqlite_insert(table), [tuple(each) for each in rows])
    else:
        connection.execute(_statement(table, postgresql.insert), [each._asdict() for each in rows])


@cache
def _sqlite_insert(table: Table) -> str:
    return str(_statement(table, sqlite.insert).compile(dialect=sqlite.dialect(paramstyle="qmark")))


def _statement(table: Table, insert: Callable[[Table], Any]) -> Any:
    statement = insert(table)
    return statement.on_conflict_do_nothing() if table is eval_scores else statement


def _earlier(connection: Connection, keys: Sequence[str]) -> dict[str, StoredAnswer]:
    found: dict[str, StoredAnswer] = {}
    for some in _portions(keys):
        for each in connection.execute(select(eval_answers).where(eval_answers.c.key.in_(some))):
            found[each.key] = StoredAnswer._make(each)
    return found


def _last_id(connection: Connection) -> int:
    if connection.dialect.name == "postgresql":  # SQLite has one writer at a time anyway
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _ADVISORY_LOCK})
    return connection.execute(select(func.coalesce(func.max(eval_answers.c.id), 0))).scalar_one()


def _portions(values: Sequence[Any]) -> Iterable[Sequence[Any]]:
    return (values[at : at + _AT_ONCE] for at in range(0, len(values), _AT_ONCE))
