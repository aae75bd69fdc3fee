"""Storage of answers by content, of the results of runs, and of scores: written in batches, read in bulk."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, TypeAlias, cast

from sqlalchemy import Column, Connection, Dialect, Table, bindparam, select, text, update
from sqlalchemy.dialects import postgresql, sqlite

from .database import Database
from .eval_rows import StoredAnswer, StoredResult, StoredScore
from .eval_tables import eval_answers, eval_results, eval_scores
from .postgresql import ANSWERS_LOCK, lock
from .tenancy import identity_of, own_columns

AnswerFigures: TypeAlias = tuple[int, int, float | None, int | None, int | None, float | None]

ResultColumns: TypeAlias = tuple[int, int, str | None, bool, str | None]
"""Repeat, place, the judges that failed, whether the answer is a failure, and its trace id."""
ScoreColumns: TypeAlias = tuple[int, int, str, str, float | None, bool | None, str | None, str | None]
"""Repeat, place, the case's and the evaluator's digests, value, passed, part, labels."""
_RESULT_COLUMNS = [
    *(eval_results.c[name] for name in ("repeat", "place", "judge_failures")),
    *(eval_answers.c[name] for name in ("is_failure", "trace_id")),
]
_SCORE_COLUMNS = [
    *(eval_results.c[name] for name in ("repeat", "place")),
    *(eval_scores.c[name] for name in ("case_digest", "evaluator_digest", "value", "passed", "part", "labels")),
]

_ANSWERS = select(*own_columns(eval_answers))

_FETCH_SIZE = 1000
_BATCH = 500
"""Values per query; every build of SQLite allows 999 variables (SQLITE_MAX_VARIABLE_NUMBER)."""
_TOOLS_COLUMNS = ("input_tokens", "output_tokens", "tool_calls", "cost", "body")


class EvalAnswers:
    """The answers and scores of all evaluations."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def by_key(self, keys: Sequence[str]) -> dict[str, StoredAnswer]:
        """Return the stored answers with these keys."""
        return {answer.key: answer for answer in self._answers(eval_answers.c.key, keys) if answer.key is not None}

    def by_id(self, ids: Sequence[int]) -> dict[int, StoredAnswer]:
        """Return the stored answers with these ids."""
        return {answer.id: answer for answer in self._answers(eval_answers.c.id, ids)}

    def _answers(self, column: Column[Any], values: Sequence[Any]) -> Iterator[StoredAnswer]:
        with self._database.read() as connection:
            for batch in _batches(values):
                yield from map(StoredAnswer._make, connection.execute(_ANSWERS.where(column.in_(batch))))

    def put(self, answers: Sequence[StoredAnswer], results: Sequence[StoredResult]) -> list[StoredAnswer]:
        """Store answers together with the results of a run that use them, all or nothing.

        Args:
            answers: The answers; their ids are assigned here.
            results: One result per answer, in the same order; their answer ids are set here.

        Returns:
            The answers as stored. Where another process stored an answer under the same key first, that one is used.
        """

        def work(connection: Connection) -> list[StoredAnswer]:
            lock(connection, ANSWERS_LOCK)  # before the first look: another process may be storing the same keys
            earlier = _earlier(connection, [answer.key for answer in answers if answer.key is not None])
            next_id = _last_id(connection) + 1
            stored: list[StoredAnswer] = []
            new: list[StoredAnswer] = []
            for answer in answers:
                other = earlier.get(answer.key) if answer.key is not None else None
                if other is None:
                    other = StoredAnswer(next_id, *answer[1:])
                    next_id += 1
                    new.append(other)
                    if answer.key is not None:
                        earlier[answer.key] = other
                stored.append(other)
            _insert(connection, eval_answers, new)
            used = [
                StoredResult(*result[:3], answer.id, *result[4:])
                for answer, result in zip(stored, results, strict=True)
            ]
            _insert(connection, eval_results, used)
            return stored

        return self._database.write_again(work)

    def use(self, results: Sequence[StoredResult]) -> None:
        """Store results of a run that reuse stored answers."""
        if results:
            with self._database.write() as connection:
                _insert(connection, eval_results, results)

    def complete(self, answers: Sequence[StoredAnswer]) -> None:
        """Add tools, tokens and cost to stored answers once their traces are available."""
        if not answers:
            return
        change = (
            update(eval_answers)
            .where(eval_answers.c.id == bindparam("of_id"))
            .values({name: bindparam(f"new_{name}") for name in _TOOLS_COLUMNS})
        )
        rows = [
            {"of_id": answer.id, **{f"new_{name}": getattr(answer, name) for name in _TOOLS_COLUMNS}}
            for answer in sorted(answers)  # two processes lock the same rows in one order
        ]
        self._database.write_again(lambda connection: connection.execute(change, rows))

    def results(self, run_id: str) -> list[StoredResult]:
        """Return the run's results, repeat by repeat, in the order of the set."""
        chosen = select(*own_columns(eval_results)).where(eval_results.c.run_id == run_id)
        with self._database.read() as connection:
            records = connection.execute(chosen.order_by(eval_results.c.repeat, eval_results.c.place))
            return [StoredResult._make(record) for record in records]

    def figures_of_run(self, run_id: str) -> list[AnswerFigures]:
        """Return the figures of each successful answer of a run.

        Returns:
            Repeat, place, duration (ms), input tokens, output tokens and cost (US dollars).
        """
        columns = [eval_answers.c[name] for name in ("duration_ms", "input_tokens", "output_tokens", "cost")]
        chosen = (
            select(eval_results.c.repeat, eval_results.c.place, *columns)
            .join(eval_answers, eval_answers.c.id == eval_results.c.answer_id)
            .where(eval_results.c.run_id == run_id, ~eval_answers.c.is_failure)
            .order_by(eval_results.c.repeat, eval_results.c.place)
        )
        with self._database.read() as connection:
            return [cast("AnswerFigures", tuple(record)) for record in connection.execute(chosen)]

    def of_run(
        self, run_id: str, *, after: tuple[int, int] = (-1, -1), limit: int
    ) -> list[tuple[StoredResult, StoredAnswer]]:
        """Return up to `limit` results of the run after (repeat, place) with their answers, in order.

        Args:
            run_id: The run.
            after: The (repeat, place) of the last result that was read before; the default begins at the first one.
            limit: The maximum number of results.
        """
        repeat, place = after
        chosen = (
            select(*own_columns(eval_results), *own_columns(eval_answers))
            .join(eval_answers, eval_answers.c.id == eval_results.c.answer_id)
            .where(
                eval_results.c.run_id == run_id,
                (eval_results.c.repeat > repeat) | ((eval_results.c.repeat == repeat) & (eval_results.c.place > place)),
            )
            .order_by(eval_results.c.repeat, eval_results.c.place)
            .limit(limit)
        )
        with self._database.read() as connection:
            return [
                (StoredResult._make(record[:6]), StoredAnswer._make(record[6:]))
                for record in connection.execute(chosen)
            ]

    def score(self, scores: Sequence[StoredScore], failures: Mapping[tuple[str, int, int], str | None]) -> None:
        """Store scores, and for results (run, repeat, place) the evaluators that failed.

        A score that is stored already is not overwritten.
        """
        if not scores and not failures:
            return

        def work(connection: Connection) -> None:
            _insert(connection, eval_scores, sorted(scores, key=_key))
            if failures:
                change = (
                    update(eval_results)
                    .where(
                        eval_results.c.run_id == bindparam("of_run"),
                        eval_results.c.repeat == bindparam("of_repeat"),
                        eval_results.c.place == bindparam("of_place"),
                    )
                    .values(judge_failures=bindparam("new_failures"))
                )
                connection.execute(
                    change,
                    [
                        {"of_run": run, "of_repeat": repeat, "of_place": place, "new_failures": text}
                        for (run, repeat, place), text in sorted(failures.items(), key=lambda failure: failure[0])
                    ],
                )

        self._database.write_again(work)

    def scores_of(self, answer_ids: Sequence[int]) -> list[StoredScore]:
        """Return all scores of these answers."""
        scores: list[StoredScore] = []
        with self._database.read() as connection:
            for batch in _batches(answer_ids):
                chosen = select(*own_columns(eval_scores)).where(eval_scores.c.answer_id.in_(batch))
                chosen = chosen.order_by(eval_scores.c.position)
                scores.extend(StoredScore._make(record) for record in connection.execute(chosen))
        return scores

    @contextmanager
    def stream_run(self, run_id: str) -> Generator[tuple[Iterator[ResultColumns], Iterator[ScoreColumns]], None, None]:
        """Open two streams for the block: the columns of the run's results, and those of the scores of its answers.

        Both are in the order of the results.
        """
        of_results = (
            select(*_RESULT_COLUMNS)
            .join(eval_answers, eval_answers.c.id == eval_results.c.answer_id)
            .where(eval_results.c.run_id == run_id)
            .order_by(eval_results.c.repeat, eval_results.c.place)
        )
        of_scores = (
            select(*_SCORE_COLUMNS)
            .join(eval_scores, eval_scores.c.answer_id == eval_results.c.answer_id)
            .where(eval_results.c.run_id == run_id)
            .order_by(
                eval_results.c.repeat, eval_results.c.place, eval_scores.c.evaluator_digest, eval_scores.c.position
            )
        )
        with self._database.read() as connection:
            yield _streamed(connection, of_results), _streamed(connection, of_scores)


def _streamed(connection: Connection, chosen: Any) -> Iterator[Any]:
    """Yield rows, fetched in batches: fetching them one by one takes longer than processing them."""
    for batch in connection.execute(chosen.execution_options(yield_per=_FETCH_SIZE)).partitions():
        yield from batch


def _insert(connection: Connection, table: Table, rows: Sequence[Any]) -> None:
    """Insert rows given in column order; stored scores are not overwritten.

    The rows go to the driver directly: SQLAlchemy's processing of each row would take longer than storing it.
    """
    if not rows:
        return
    if connection.dialect.name == "sqlite":
        sql, place = _sqlite_insert(table, connection.dialect)
        identity = identity_of(connection)
        if place is None or identity is None:
            values = [tuple(record) for record in rows]
        else:
            values = [(*record[:place], identity.tenant, *record[place:]) for record in rows]
        connection.exec_driver_sql(sql, values)
    else:
        connection.execute(_statement(table, postgresql.insert), [record._asdict() for record in rows])


@lru_cache(maxsize=16)
def _sqlite_insert(table: Table, dialect: Dialect) -> tuple[str, int | None]:
    """Return the statement, and which of its parameters is the tenant: None when the dialect does not add it."""
    parameters: dict[str, Any] = {column.name: bindparam(column.name) for column in own_columns(table)}
    compiled = _statement(table, sqlite.insert).values(parameters).compile(dialect=dialect)
    added = [place for place, name in enumerate(compiled.positiontup) if name not in parameters]
    return str(compiled), added[0] if added else None


def _statement(table: Table, insert: Callable[[Table], Any]) -> Any:
    statement = insert(table)
    return statement.on_conflict_do_nothing() if table is eval_scores else statement


def _earlier(connection: Connection, keys: Sequence[str]) -> dict[str, StoredAnswer]:
    answers: dict[str, StoredAnswer] = {}
    for batch in _batches(keys):
        for record in connection.execute(_ANSWERS.where(eval_answers.c.key.in_(batch))):
            answers[record.key] = StoredAnswer._make(record)
    return answers


def _last_id(connection: Connection) -> int:
    """Return the largest id of all tenants' answers, of which the connection may see only some."""
    if connection.dialect.name == "postgresql":
        return connection.execute(text("SELECT loom_last_answer_id()")).scalar_one()
    return connection.execute(text("SELECT coalesce(max(id), 0) FROM eval_answers")).scalar_one()


def _key(score: StoredScore) -> tuple[Any, ...]:
    return score[:4]


def _batches(values: Sequence[Any]) -> Iterable[Sequence[Any]]:
    return (values[at : at + _BATCH] for at in range(0, len(values), _BATCH))
