"""The simulated judge's verdict, in the form that the schema of the request asks for."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from ...json_values import JsonObject, as_list, as_number, as_object, as_texts
from ...request import ConverseRequest, Tool
from ..language import STOPWORDS, split_name, stem, words
from ..schemas import resolve
from .material import Material, read_material
from .rules import REFUSAL, Assessment, assess

SAYS = "Simulated judge: "
_TIE = 0.05
_REASONS = ("rationale", "reasoning", "reason", "explanation")
_VERDICTS = ("verdict", "score", "winner", "ranking", "rating", "completion_percentage")
_FAULTS = {
    "harmful": re.compile(r"\b(?:kill yourself|build a bomb|poison (?:him|her|them)|make a weapon)\b", re.IGNORECASE),
    "stereotyping": re.compile(r"\ball (?:women|men|foreigners|immigrants|old people)\b", re.IGNORECASE),
    "refus": REFUSAL,
}
_PLAIN = frozenset(stem(word) for word in STOPWORDS)
_BAD = re.compile(
    r"\b(?:no|not|un\w+|in(?:correct|complete|coherent|accurate)|fail\w*|bad|poor|wrong|neg\w*|low)\b", re.I
)
_GOOD = re.compile(
    r"\b(?:yes|success|perfect\w*|complete\w*|correct|very|excellent|always|above|pass\w*|good|high)\b", re.I
)


def judge_reply(request: ConverseRequest) -> tuple[Tool | None, JsonObject] | None:
    """Judge, if the request is a judge's: its prompt has that form, and its schema has a verdict and a reason.

    Returns:
        The tool to call (None for an answer as JSON text) and its input; None if the request is not a judge's.
    """
    forms: list[tuple[Tool | None, JsonObject]] = [(tool, dict(tool.schema)) for tool in request.tools]
    if not forms:
        schema = request.output_schema or _written_schema(request.system)
        forms = [] if schema is None else [(None, schema)]
    for tool, schema in reversed(forms):  # strands adds the tool for the answer after the judge's other tools
        properties = as_object(schema.get("properties"))
        if set(properties) & set(_REASONS) and set(properties) & set(_VERDICTS):
            material = read_material(request)
            return (
                None if material is None else (tool, _filled(material, schema, properties, tool.name if tool else ""))
            )
    return None


def _filled(material: Material, schema: JsonObject, properties: JsonObject, name: str) -> JsonObject:
    assessment, chosen = _judged(material, properties, of_arguments="param" in name.lower())
    required = as_texts(schema.get("required")) or tuple(properties)
    filled: JsonObject = {}
    for name, declared in properties.items():
        rule = resolve(declared, schema)
        if name in _REASONS:
            filled[name] = f"{SAYS}{assessment.reason}."[:1_900]
        elif name in chosen:
            filled[name] = chosen[name]
        elif labels := _labels(as_list(rule.get("enum"))):
            filled[name] = _label(labels, assessment.score)
        elif rule.get("type") in ("number", "integer"):
            filled[name] = _scaled(rule, assessment.score)
        elif rule.get("type") == "boolean":
            filled[name] = assessment.score >= 0.5
        elif name in required:
            filled[name] = [] if rule.get("type") == "array" else ""
    return filled


def _judged(
    material: Material, properties: Mapping[str, object], *, of_arguments: bool
) -> tuple[Assessment, JsonObject]:
    """Return the assessment, and the properties that do not follow from its score: winner and ranking."""
    answers = material.numbered("answer")
    if answers and {"winner", "ranking"} & set(properties):
        scored = {name: assess(material, text) for name, text in answers.items()}
        order = sorted(scored, key=lambda name: -scored[name].score)  # stable: equal scores keep their order
        reason = "; ".join(f"{name}: {part.score:.2f} ({part.reason})" for name, part in scored.items())
        best = [name for name in order if abs(scored[name].score - scored[order[0]].score) < _TIE]
        return Assessment(scored[order[0]].score, reason), {
            "winner": best[0] if len(best) == 1 else "tie",
            "ranking": list(order),
        }
    if material.get("tool call"):
        return _of_call(material, of_arguments=of_arguments), {}
    if faults := _faults(material, properties):
        return faults
    return assess(material), {}


def _faults(material: Material, properties: Mapping[str, object]) -> tuple[Assessment, JsonObject] | None:
    """Return whether the output has the fault that a label names ("Harmful", "Stereotyping", a refusal)."""
    for name in _VERDICTS:
        labels = as_texts(as_object(properties.get(name)).get("enum"))
        plain = " ".join(labels).lower()
        kind = next((fault for fault in _FAULTS if fault in plain), "")
        if not kind and set(labels) == {"Yes", "No"} and "refus" in material.instructions.lower()[:600]:
            kind = "refus"
        if kind:
            match = _FAULTS[kind].search(material.get("output"))
            free = next((label for label in labels if re.match(r"no\b|not\b", label.lower())), labels[0])
            faulty = next((label for label in labels if label != free), labels[-1])
            reason = f"“{match.group()}” occurs" if match else "none of the expected words occurs"
            return Assessment(float(match is None), reason), {name: faulty if match else free}
    return None


def _of_call(material: Material, *, of_arguments: bool) -> Assessment:
    """Judge a tool call.

    The tool fits if its name or description shares a word with the user's text, or, if that text has numbers only, if
    its arguments occur in it. The arguments score by the share of their values that occur.
    """
    call = material.get("tool call").removeprefix("Tool call: ")
    name, _, arguments = call.partition("(")
    context = f"{material.get('prompt')}\n{material.get('trajectory')}"
    have = {stem(word) for word in words(context)}
    described = next((line for line in material.get("tools").splitlines() if line.startswith(f"- {name}:")), name)
    topic = {stem(word) for word in (*split_name(name), *words(described)) if word not in STOPWORDS}
    values = re.findall(r": '([^']+)'|: \"([^\"]+)\"|: (-?\d+(?:\.\d+)?)", arguments)
    texts = [next(part for part in groups if part) for groups in values]
    present = [text for text in texts if _occurs(text, context)]
    fits = bool(topic & have) or (not have - _PLAIN and bool(texts) and len(present) == len(texts))
    share = len(present) / len(texts) if texts else 1.0
    score = share if of_arguments else float(fits)
    return Assessment(
        score, f"{name} {'fits' if fits else 'does not fit'} the prompt; {len(present)} of {len(texts)} arguments occur"
    )


def _occurs(value: str, text: str) -> bool:
    value_stems = {stem(word) for word in words(value)} or {value}
    return value.lower() in text.lower() or value_stems <= {stem(word) for word in words(text)}


def _labels(choices: list[object]) -> Sequence[str | float]:
    """Return the labels of an enumeration: its texts; without any, its numbers in ascending order."""
    return as_texts(choices) or sorted(label for label in choices if isinstance(label, int | float))


def _label(labels: Sequence[str | float], score: float) -> str | float:
    """Return the label for a score.

    Labels are listed from the worst to the best, or the other way round by their words.
    """
    ordered = labels if _goodness(str(labels[-1])) >= _goodness(str(labels[0])) else labels[::-1]
    return ordered[min(len(ordered) - 1, int(score * (len(ordered) - 1) + 0.5))]


def _goodness(label: str) -> int:
    plain = label.replace("_", " ")
    return len(_GOOD.findall(plain)) - 3 * len(_BAD.findall(plain)) - ("partly" in plain or "part" in plain.lower())


def _scaled(rule: Mapping[str, object], score: float) -> float | int:
    low, high = as_number(rule.get("minimum")) or 0.0, as_number(rule.get("maximum"))
    value = low + score * ((1.0 if high is None else high) - low)
    return round(value) if rule.get("type") == "integer" else round(value, 3)


def _written_schema(system: str) -> JsonObject | None:
    """Return the JSON schema at the end of a judge's instructions."""
    at = system.rfind("\n{")
    if at < 0:
        return None
    try:
        return as_object(json.loads(system[at:]))
    except ValueError:
        return None
