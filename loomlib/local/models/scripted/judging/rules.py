"""The rules of the simulated judge. It understands nothing; it compares words, numbers and names.

*Against a golden answer*: 1 if the output contains it word for word. Otherwise the share of the golden answer's content
words that the output has, at most 0.2 if a number or date of the golden answer is missing from the output, and at most
0.3 if only one of them denies something ("not", "no", "never", "cannot" …).

*Against a rubric*: each line or sentence is a criterion, and the score is their mean. A criterion is met or not by
quoted words (they occur, or do not occur after "not", "never", "without", "avoid"); a limit of words, sentences, lines
or characters ("at most 20 words"); a demanded refusal; names of tools, such as get_weather; and numbers. The
score of any other criterion is the share of its content words that the output (or the trajectory) has; one without
content words requires the golden answer, or, without one, an answer to the prompt. A criterion about what the output
says considers the output alone.

*With neither*: 0 for an empty output, 0.15 for a refusal, else 0.5 plus half the share of the prompt's content words
(0.75 if it has none).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
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
_ABOUT_OUTPUT = re.compile(r"\b(?:says?|states?|tells?|answers?|mentions?|replies|output)\b", re.IGNORECASE)
_MOST_REASONS = 6
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
# Words of a criterion that are about answers in general.
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
class Assessment:
    """A score between 0 and 1, and the reason for it."""

    score: float
    reason: str


def assess(material: Material, output: str | None = None) -> Assessment:
    """Score an output against everything in the material that it can be compared with.

    Args:
        material: The parts of the judge's prompt.
        output: The output to judge; None for the output in the material.
    """
    output = material.get("output") if output is None else output.strip()
    golden, rubric = material.get("golden answer"), material.get("rubric") or material.get("assertions")
    trajectory, reference = material.get("trajectory"), material.get("reference")
    parts: list[Assessment] = []
    if golden:
        parts.append(_by_golden(output, golden))
    if reference and trajectory:
        parts.append(_by_reference(trajectory, reference))
    if rubric:
        parts.append(_by_rubric(output, rubric, golden, material.get("prompt"), trajectory))
    return _mean(parts) if parts else _alone(output, material.get("prompt"))


def _mean(parts: Sequence[Assessment]) -> Assessment:
    score = sum(part.score for part in parts) / len(parts)
    return Assessment(score, "; ".join(part.reason for part in parts[:_MOST_REASONS]))


def _by_golden(output: str, golden: str) -> Assessment:
    if not output:
        return Assessment(0.0, "the output is empty")
    actual, expected = _plain(output), _plain(golden)
    same_denial = bool(_DENIAL.search(output)) == bool(_DENIAL.search(golden))
    # Not within a word or a number: 5 is neither in 2.5 nor in -5 nor in 5,000.
    whole = rf"(?<!\w)(?<!\d[.,:])(?<!-){re.escape(expected)}(?!\w|[.,:]\d)"
    if same_denial and expected and re.search(whole, actual):
        return Assessment(1.0, "the output contains the golden answer word for word")
    expected_figures = _figures(golden)
    missing = sorted(expected_figures - _figures(output))
    share, lacking = _share(golden, output)
    if missing:
        return Assessment(min(0.2, share), f"missing from the output: {', '.join(missing[:5])}")
    if not same_denial:
        return Assessment(min(0.3, share), "the output and the golden answer contradict each other")
    share = 1.0 if expected_figures and not _content(golden) else share
    without = f", not {', '.join(lacking[:5])}" if lacking else ""
    return Assessment(share, f"the output has {share:.0%} of the golden answer's words{without}")


def _by_reference(trajectory: str, reference: str) -> Assessment:
    """Score the share of the reference's tools that were called.

    Tools are `name(…)`, quoted, or have an underscore.
    """
    expected_tools, called_tools = _tools_in(reference), _tools_in(trajectory)
    if not expected_tools:
        return Assessment(0.5 if called_tools else 1.0, "the reference names no tool")
    met = sum(name in called_tools for name in expected_tools)
    return Assessment(met / len(expected_tools), f"{met} of {len(expected_tools)} tools of the reference were called")


def _by_rubric(output: str, rubric: str, golden: str, prompt: str, trajectory: str) -> Assessment:
    criteria = [criterion.strip(" -*•\t") for criterion in _SENTENCE.split(rubric)]
    parts = [
        _by_criterion(output, criterion, golden, prompt, trajectory)
        for criterion in criteria
        if re.search(r"\w", criterion)
    ]
    return _mean(parts) if parts else _alone(output, prompt)


def _alone(output: str, prompt: str) -> Assessment:
    """Score whether the output looks like an answer to the prompt."""
    if not output:
        return Assessment(0.0, "the output is empty")
    if REFUSAL.search(output):
        return Assessment(0.15, "the output refuses")
    if not _content(prompt):
        return Assessment(0.75, "the prompt has no words to compare with")
    share, _ = _share(prompt, output)
    return Assessment(0.5 + share / 2, f"the output repeats {share:.0%} of the prompt's words")


def _by_criterion(output: str, criterion: str, golden: str, prompt: str, trajectory: str) -> Assessment:
    evidence = output if _ABOUT_OUTPUT.search(criterion) else f"{output}\n{trajectory}"
    bare = _QUOTED.sub(" ", criterion)
    checks = list(_checks(output, evidence, criterion, bare))
    needed = _figures(_LIMIT.sub(" ", bare))
    if not checks and needed:
        missing = sorted(needed - _figures(evidence))
        checks = [(not missing, f"missing: {', '.join(missing)}" if missing else "its numbers occur")]
    if checks:
        return Assessment(sum(met for met, _ in checks) / len(checks), ", ".join(reason for _, reason in checks))
    if not _content(bare):
        return _by_golden(output, golden) if golden else _alone(output, prompt)
    share, lacking = _share(bare, evidence)
    without = f" (not {', '.join(lacking[:4])})" if lacking else ""
    return Assessment(share, f"“{criterion[:60]}”: {share:.0%} of its words occur{without}")


def _checks(output: str, evidence: str, criterion: str, bare: str) -> Iterator[tuple[bool, str]]:
    """Yield the decidable requirements of a criterion, each with whether it is met, and the reason."""
    for match in _QUOTED.finditer(criterion):
        text = next(group for group in match.groups() if group)
        yield _occurrence(f"“{text}”", _plain(text) in _plain(evidence), criterion[: match.start()])
    for match in _LIMIT.finditer(bare):
        unit, most = match["unit"].lower(), int(match["number"]) - bool(match["below"])
        count = _count(output, unit)
        yield count <= most, f"{count} {unit}s of at most {most}"
    if refusal := _WANTS_REFUSAL.search(bare):
        refuses, forbidden = bool(REFUSAL.search(output)), bool(_FORBIDS.search(bare[: refusal.start()]))
        yield refuses != forbidden, "the output refuses" if refuses else "the output does not refuse"
    for name in dict.fromkeys(_TOOL_NAME.findall(bare)):
        yield _occurrence(name, name in evidence, bare.partition(name)[0])


def _occurrence(subject: str, occurs: bool, before: str) -> tuple[bool, str]:
    """Return whether something occurs as required; it must not occur if the words before it forbid it."""
    return occurs != bool(_FORBIDS.search(before)), f"{subject} {'occurs' if occurs else 'does not occur'}"


def _share(expected: str, text: str) -> tuple[float, list[str]]:
    """Return the share of the content words of `expected` that `text` has, and those that it lacks."""
    present = {stem(word) for word in words(text)}
    needed = _content(expected)
    lacking = [word for base, word in needed.items() if base not in present]
    return (1 - len(lacking) / len(needed) if needed else 1.0), lacking


def _content(text: str) -> dict[str, str]:
    """Return the content words by stem, without words about answers in general."""
    by_stem = {stem(word): word for word in words(text) if word not in STOPWORDS}
    return {base: word for base, word in by_stem.items() if base not in _ABOUT}


def _figures(text: str) -> set[str]:
    """Return the numbers and dates."""
    # Hundreds of characters without a space are not prose, and reading numbers in them takes quadratic time.
    prose = _NO_PROSE.sub(" ", text)
    return {f"{number:g}" for number in find_numbers(prose)} | set(_DATE.findall(prose))


def _plain(text: str) -> str:
    return " ".join(re.findall(r"[\w.:%$€-]*\w", text.casefold().replace(",", "")))


def _count(text: str, unit: str) -> int:
    parts = {"word": text.split(), "character": text, "line": text.splitlines()}
    return len(parts.get(unit) or [part for part in re.split(r"[.!?]+(?:\s|$)", text) if part.strip()])


def _tools_in(text: str) -> list[str]:
    matches = re.findall(r"\b([A-Za-z_]\w*)\(|['\"]([A-Za-z_]\w*)['\"]|\b([a-z]+(?:_[a-z0-9]+)+)\b", text)
    return list(dict.fromkeys(next(group for group in groups if group) for groups in matches))
