"""Cases sampled from production: every failure and a share of the successes, each request once."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from loomlib.errors import EvalError
from loomlib.presentation.formats import percent
from loomlib.presentation.html import fragment, table

from ..registry import Choice
from ..runs.eval_run import EvalRun
from ..values.eval_set import EvalSet
from .capturing import redactor_of
from .case_making import asked_key, case_of
from .conversation import Conversation, conversation_of
from .judged_runs import with_runs_opened
from .scoring import failed_scores

if TYPE_CHECKING:
    import pandas as pd

    from loomlib.redaction import RedactionRule, Redactor

_MOST_ROWS = 200
OWN_LABELS = ("evaluation", "study", "benchmark")
"""Labels of invocations by Loom itself, which are not collected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected:
    """One conversation that was considered.

    Attributes:
        session_id: The conversation's session.
        invocation_ids: Its invocations.
        kind: "failure" or "success".
        taken: Whether it became a case.
        why: Why it is a failure, and why it was not taken.
        case_id: The case with its request, "" for none.
    """

    session_id: str
    invocation_ids: tuple[int, ...]
    kind: str
    taken: bool
    why: str
    case_id: str = ""


@dataclass(frozen=True, kw_only=True)
class Collection:
    """The set with the new cases, and every conversation that was considered."""

    evalset: EvalSet
    looked_at: tuple[Collected, ...]

    @property
    def taken(self) -> tuple[Collected, ...]:
        """The conversations that became cases."""
        return tuple(entry for entry in self.looked_at if entry.taken)

    def table(self) -> pd.DataFrame:
        """Return one row per conversation."""
        import pandas as pd

        columns = ["session_id", "invocation_ids", "kind", "taken", "why", "case_id"]
        return pd.DataFrame([[getattr(look, name) for name in columns] for look in self.looked_at], columns=columns)

    def sentence(self) -> str:
        """Return how many conversations became cases."""
        total_counts, taken_counts = (
            Counter(entry.kind for entry in entries) for entries in (self.looked_at, self.taken)
        )
        return (
            f"{len(self.taken)} of {len(self.looked_at)} conversations became cases: {taken_counts['failure']} of "
            f"{total_counts['failure']} failures, {taken_counts['success']} of {total_counts['success']} successes; "
            f"the set has {len(self.evalset)} cases"
        )

    def __str__(self) -> str:
        lines = [f"  {'+' if look.taken else ' '} {look.session_id or '–'}  {look.why}" for look in self.looked_at[:50]]
        return "\n".join([self.sentence(), *lines])

    def _repr_html_(self) -> str:
        rows = [
            ("taken" if look.taken else "left", look.kind, look.why, look.case_id)
            for look in self.looked_at[:_MOST_ROWS]
        ]
        table_html = table(("", "kind", "why", "case"), rows, more=len(self.looked_at) - len(rows))
        return str(fragment("loomlib.evals:collected.html.j2", sentence=self.sentence(), table=table_html))


def collect_cases(
    evalset: EvalSet,
    conversations: Iterable[object] | EvalRun,
    *,
    failures: float = 1.0,
    successes: float = 0.1,
    seed: int = 0,
    is_failure: Callable[[Conversation], bool | str] | None = None,
    evaluators: Sequence[Choice] = (),
    tags: Sequence[str] = (),
    redact: Redactor | Sequence[RedactionRule] | None = None,
    leave: Sequence[str] = OWN_LABELS,
    complete: Callable[[Sequence[Conversation]], Sequence[Conversation]] | None = None,
) -> Collection:
    """Return the set with cases from production, sampled, redacted and without duplicates.

    A failure is a conversation with a failed invocation, one that `is_failure` names, or one that an evaluator does not
    pass. It becomes a case without an expectation, tagged "failure", with the answer in its metadata. A success becomes
    a case that expects what the agent did, tagged "success". Sampling is by a hash of the session id and the seed, so
    collecting again picks the same conversations and finds them in the set.

    Args:
        evalset: The set.
        conversations: Invocations, traces or conversations; or a stored `EvalRun`, whose conversations come with their
            scores: one that did not pass is a failure.
        failures: Share of the failures to take, 0 to 1.
        successes: Share of the successes to take, 0 to 1.
        seed: Seed of the sampling.
        is_failure: Returns true, or a reason as text, for a conversation that failed.
        evaluators: Evaluators that find failures. Those that need an expectation do not apply.
        tags: Further tags of the cases.
        redact: Redaction rules or a `Redactor`; None uses Loom's rules.
        leave: Skip conversations with one of these labels.
        complete: Adds what is expensive to read, such as tools from traces. Called once, with the sampled
            conversations, or with all when evaluators are given.
    """
    for name, share in (("failures", failures), ("successes", successes)):
        if not 0 <= share <= 1:
            raise ValueError(f"{name} must be between 0 and 1, not {share}")
    redactor = redactor_of(redact)
    ids_by_key = {asked_key(case): case.id for case in evalset.cases}
    ids = {case.id for case in evalset.cases}
    selected: list[Any] = []
    looked_at: list[Collected] = []
    candidates = [
        candidate
        for conversation in with_runs_opened(conversations)
        if (candidate := _readable(conversation, leave)) is not None
    ]
    if evaluators and complete is not None:
        candidates, complete = list(complete(candidates)), None
    scored = failed_scores(candidates, evaluators)
    reasons = [
        _failure(candidate, is_failure) or candidate.unpassed or unpassed
        for candidate, unpassed in zip(candidates, scored, strict=True)
    ]
    drawn = [
        _is_drawn(candidate, seed, failures if why else successes)
        for candidate, why in zip(candidates, reasons, strict=True)
    ]
    if complete is not None:
        whole = iter(complete([candidate for candidate, is_drawn in zip(candidates, drawn, strict=True) if is_drawn]))
        candidates = [
            next(whole) if is_drawn else candidate for candidate, is_drawn in zip(candidates, drawn, strict=True)
        ]
    for conversation, reason, is_drawn in zip(candidates, reasons, drawn, strict=True):
        kind, share = ("failure", failures) if reason else ("success", successes)
        why, case_id, is_taken = reason or "answered", "", False
        if not is_drawn:
            why += f"; not in the sample of {percent(share)}"
        else:
            case = case_of(conversation, redactor=redactor, expected=not reason, tags=(kind, *tags))
            key = asked_key(case)
            case_id = ids_by_key.get(key, case.id)
            if key in ids_by_key or case.id in ids:
                why += f"; {case_id} has the same request"
            else:
                ids_by_key[key] = case.id
                ids.add(case.id)
                selected.append(case)
                is_taken = True
        looked_at.append(
            Collected(
                session_id=conversation.session_id,
                invocation_ids=tuple(t.invocation_id for t in conversation.turns if t.invocation_id is not None),
                kind=kind,
                taken=is_taken,
                why=why,
                case_id=case_id,
            )
        )
    return Collection(evalset=evalset.with_cases(*selected), looked_at=tuple(looked_at))


def _readable(source: object, leave: Sequence[str]) -> Conversation | None:
    try:
        conversation = conversation_of(source)
    except EvalError:  # without a request there is nothing to ask again
        return None
    return None if set(conversation.labels) & set(leave) else conversation


def _failure(conversation: Conversation, is_failure: Callable[[Conversation], bool | str] | None) -> str:
    if conversation.failure is not None:
        return f"failed: {conversation.failure}"
    verdict = is_failure(conversation) if is_failure is not None else False
    return verdict if isinstance(verdict, str) else "is_failure returned true" if verdict else ""


def _is_drawn(conversation: Conversation, seed: int, share: float) -> bool:
    identity = f"{seed}|{conversation.identity}".encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.sha256(identity).digest()[:8], "big") < share * 2**64
