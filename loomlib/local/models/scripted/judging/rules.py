"""The rules by which the simulated judge judges. It understands nothing; it compares words, numbers and names.

*Against a golden answer*: 1 when the output says it in the same words (whole, or as a passage). Otherwise the share of
the golden answer's content words that the output has, at most 0.2 when a number or date of the golden answer is missing
from the output, and at most 0.3 when only one of both denies something ("not", "no", "never", "cannot" …).

*Against a rubric*: each line or sentence of it is a criterion, and the verdict is their mean. A criterion is met or not
by: words it quotes (in quotation marks: they occur, or do not after "not", "never", "without", "avoid"); a limit of
words, sentences or characters ("at most 20 words"); a refusal it wants; names of tools, such as get_weather, and
numbers. Any other criterion counts by the share of its content words which the output (or the trajectory) has; one
without content words asks for the golden answer, or, where there is none, for an answer to the prompt.

A criterion that speaks of what the output says looks at the output alone.

*Without both*: 0 for nothing, 0.15 for a refusal, else 0.5 plus half the share of the prompt's content words (0.75 when
it has none).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..language import STOPWORDS, stem, words
from ..numbers import find_numbers
from .material import Material

REFUSAL = re.compile(
    r"\bI(?:'m| am)? (?:can(?:'|no)?t|cannot|won't|will not|unable|not able)\b|\bI(?:'m| am) sorry\b"
    r"|\bno tool of mine\b",
    re.IGNORECASE,
)
_DATE = re.compile(r"\b\d{4}-\d{2}-\d{2}\b|\b\d{1,2}:\d{2}\b")
_NO_PROSE = re.compile(r"\S{200,}")
_DENIAL = re.compile(r"\b(?:not|no|never|cannot|none|neither|without)\b|n't\b", re.IGNORECASE)
_QUOTED = re.compile(r'"([^"\n]{1,200})"|“([^”\n]{1,200})”|`([^`\n]{1,200})`')
_FORBIDS = re.compile(r"\b(?:not|never|without|avoids?|no)\b|n't\b", re.IGNORECASE)
_LIMIT = re.compile(
    r"\b(?:at most|no more than|not more than|up to|max(?:imum)?(?: of)?|(?P<below>fewer than|less than|under|below))"
    r" (?P<number>\d+) (?P<unit>word|sentence|character|line)s?\b",
    re.IGNORECASE,
)
_WANTS_REFUSAL = re.compile(r"\b(?:refus|declin)\w*", re.IGNORECASE)
_TOOL_NAME = re.compile(r"\b[a-z]+(?:_[a-z0-9]+)+\b|\b[a-z]+(?:[A-Z][a-z0-9]+)+\b")
_SPEAKS = re.compile(r"\b(?:says?|states?|tells?|answers?|mentions?|replies|output)\b", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
# Words of a criterion that speak about answers rather than about what is answered.
_ABOUT = frozenset(
    stem(word)
    for line in (
        "answer response reply output agent assistant model user question prompt rubric criterion criteria",
        "state states mention mentions contain contains include includes say says give gives name names explain",
        "explains correct correctly accurate accurately clear clearly helpful relevant complete completely concise",
        "polite must right exactly good well quality judge score whether used uses calls call tool tools",
    )
    for word in line.split()
)


@dataclass(frozen=True, slots=True)
class Finding:
    """A score between 0 and 1 and what it rests on."""

    score: float
    why: str


def judge_answer(material: Material, output: str | None = None) -> Finding:
    """The score of an output by all that the material holds to compare it with."""
    said = material.get("output") if output is None else output.strip()
    golden, rubric = material.get("golden answer"), material.get("rubric") or material.get("assertions")
    path, reference = material.get("trajectory"), material.get("reference")
    found: list[Finding] = []
    if golden:
        found.append(against_golden(said, golden))
    if reference and path:
        found.append(against_path(path, reference))
    if rubric:
        found.append(against_rubric(said, rubric, golden=golden, prompt=material.get("prompt"), path=path))
    if not found:
        return alone(said, material.get("prompt"))
    return Finding(sum(each.score for each in found) / len(found), "; ".join(each.why for each in found))


def against_golden(said: str, golden: str) -> Finding:
    """How much of the golden answer the output has."""
    if not said:
        return Finding(0.0, "the output is empty")
    plain, wanted = _plain(said), _plain(golden)
    if wanted and re.search(rf"(?<!\w){re.escape(wanted)}(?!\w)", plain) and _denies(said) == _denies(golden):
        return Finding(1.0, "the output has the golden answer in its own words")
    have, needed = _figures(said), _figures(golden)
    missing = sorted(needed - have)
    share, lacking = _share(golden, said)
    if missing:
        return Finding(min(0.2, share), f"missing from the output: {', '.join(missing[:5])}")
    if _denies(said) != _denies(golden):
        return Finding(min(0.3, share), "one of both denies what the other says")
    if needed and not _content(golden):
        share = 1.0
    told = f", not {', '.join(lacking[:5])}" if lacking else ""
    return Finding(share, f"the output has {share:.0%} of the golden answer's words{told}")


def against_path(path: str, reference: str) -> Finding:
    """How many of the reference's tools (names of the form `name(…)`, quoted or with an underscore) were called."""
    wanted = _tools_in(reference)
    if not wanted:
        return Finding(1.0 if not _tools_in(path) else 0.5, "the reference names no tool")
    had = _tools_in(path)
    met = [name for name in wanted if name in had]
    return Finding(len(met) / len(wanted), f"{len(met)} of {len(wanted)} tools of the reference were called")


def against_rubric(said: str, rubric: str, *, golden: str = "", prompt: str = "", path: str = "") -> Finding:
    """The mean over the rubric's criteria."""
    criteria = [each.strip(" -*•\t") for each in _SENTENCE.split(rubric)]
    found = [_criterion(said, each, golden, prompt, path) for each in criteria if re.search(r"\w", each)]
    if not found:
        return alone(said, prompt)
    score = sum(each.score for each in found) / len(found)
    return Finding(score, "; ".join(each.why for each in found[:6]))


def alone(said: str, prompt: str) -> Finding:
    """Whether the output looks like an answer to the prompt."""
    if not said:
        return Finding(0.0, "the output is empty")
    if REFUSAL.search(said):
        return Finding(0.15, "the output refuses")
    if not _content(prompt):
        return Finding(0.75, "the prompt has no words to compare with")
    share, _ = _share(prompt, said)
    return Finding(0.5 + share / 2, f"the output takes up {share:.0%} of the prompt's words")


def _criterion(said: str, criterion: str, golden: str, prompt: str, path: str) -> Finding:
    checks: list[tuple[bool, str]] = []
    shown = said if _SPEAKS.search(criterion) else f"{said}\n{path}"
    for match in _QUOTED.finditer(criterion):
        text = next(group for group in match.groups() if group)
        forbidden = bool(_FORBIDS.search(criterion[: match.start()]))
        occurs = _plain(text) in _plain(shown)
        checks.append((occurs != forbidden, f"“{text}” {'occurs' if occurs else 'does not occur'}"))
    bare = _QUOTED.sub(" ", criterion)
    for match in _LIMIT.finditer(bare):
        unit, most = match["unit"].lower(), int(match["number"]) - bool(match["below"])
        count = _count(said, unit)
        checks.append((count <= most, f"{count} {unit}s of at most {most}"))
    if _WANTS_REFUSAL.search(bare):
        forbidden = bool(_FORBIDS.search(bare[: _WANTS_REFUSAL.search(bare).start()]))  # pyright: ignore[reportOptionalMemberAccess]
        refuses = bool(REFUSAL.search(said))
        checks.append((refuses != forbidden, "the output refuses" if refuses else "the output does not refuse"))
    for name in dict.fromkeys(_TOOL_NAME.findall(bare)):
        forbidden, occurs = bool(_FORBIDS.search(bare.partition(name)[0])), name in shown
        checks.append((occurs != forbidden, f"{name} {'occurs' if occurs else 'does not occur'}"))
    needed = _figures(_LIMIT.sub(" ", bare))
    if not checks and needed:
        missing = sorted(needed - _figures(shown))
        checks.append((not missing, f"missing: {', '.join(missing)}" if missing else "its numbers occur"))
    if checks:
        met = sum(ok for ok, _ in checks)
        return Finding(met / len(checks), ", ".join(why for _, why in checks))
    if not _content(bare):
        return against_golden(said, golden) if golden else alone(said, prompt)
    share, lacking = _share(bare, shown)
    told = f" (not {', '.join(lacking[:4])})" if lacking else ""
    return Finding(share, f"“{criterion[:60]}”: {share:.0%} of its words occur{told}")


def _share(wanted: str, said: str) -> tuple[float, list[str]]:
    """The share of the content words of `wanted` that `said` has, and those it lacks."""
    have = {stem(word) for word in words(said)}
    needed = _content(wanted)
    if not needed:
        return (1.0, [])
    lacking = [word for base, word in needed.items() if base not in have]
    return 1 - len(lacking) / len(needed), lacking


def _content(text: str) -> dict[str, str]:
    found = {stem(word): word for word in words(text) if word not in STOPWORDS}
    return {base: word for base, word in found.items() if base not in _ABOUT}


def _figures(text: str) -> set[str]:
    # Hundreds of characters without a space are no prose, and reading numbers takes quadratic time in them.
    prose = _NO_PROSE.sub(" ", text)
    return {f"{number:g}" for number in find_numbers(prose)} | set(_DATE.findall(prose))


def _denies(text: str) -> bool:
    return bool(_DENIAL.search(text))


def _plain(text: str) -> str:
    return " ".join(re.findall(r"[\w.:%$€-]*\w", text.casefold().replace(",", "")))


def _count(text: str, unit: str) -> int:
    if unit == "word":
        return len(text.split())
    if unit == "character":
        return len(text)
    if unit == "line":
        return len(text.splitlines())
    return len([each for each in re.split(r"[.!?]+(?:\s|$)", text) if each.strip()])


def _tools_in(text: str) -> list[str]:
    named = re.findall(r"\b([A-Za-z_]\w*)\(|['\"]([A-Za-z_]\w*)['\"]|\b([a-z]+(?:_[a-z0-9]+)+)\b", text)
    return list(dict.fromkeys(next(group for group in groups if group) for groups in named))
