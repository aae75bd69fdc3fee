"""Sensitive information: AWS's 31 kinds of personal data and secrets by rules, and a caller's own expressions.

Kinds without a distinctive form (names, addresses, numbers without a check digit) are found by the words before them.
AWS detects these with a model, so it finds more.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

from loomlib.redaction import DEFAULT_RULES, RedactionRule

from ..patterns import Pattern
from .findings import GuardrailFinding, Source, action_for

_NAME: Final = r"[A-Z][\w'’-]+(?: [A-Z][\w'’.-]*){0,3}"
_RULES: Final[Mapping[str, str]] = {
    "AWS_ACCESS_KEY": "aws access key",
    "AWS_SECRET_KEY": "aws secret key",
    "CREDIT_DEBIT_CARD_NUMBER": "card",
    "EMAIL": "email",
    "INTERNATIONAL_BANK_ACCOUNT_NUMBER": "iban",
    "IP_ADDRESS": "ip",
    "MAC_ADDRESS": "mac address",
    "PASSWORD": "password",
    "PHONE": "phone",
    "PIN": "pin",
}
"""Kinds that Loom also redacts elsewhere, by the name of the rule."""


def _after(words: str, value: str) -> str:
    """Return the expression for a value after the words that name it ("my X is 123", "X number: 123", "X #123")."""
    name = rf"(?<![\w-])(?:{words})(?:\s+(?:number|no\.?|code|id))?"
    return rf"(?i:{name}(?:\s*[:#=]|\s+(?:is|was))?\s{{0,3}}#?)({value})(?!\w)"


_PATTERNS: Final[Mapping[str, tuple[str, ...]]] = {
    "ADDRESS": (
        r"(?<!\w)(\d{1,5}[A-Za-z]?,? (?:[A-Z][\w'.-]+ ){1,4}(?:Street|St|Avenue|Ave|Road|Rd|Lane|Ln|Drive|Dr|Boulevard|"
        r"Blvd|Court|Ct|Square|Sq|Way|Place|Pl|Terrace|Parkway|Highway)\b\.?(?:,? (?:[A-Z][\w'.-]+,? ?){1,4}\d{0,5})?)",
    ),
    "AGE": (r"(?<!\w)(\d{1,3}[ -]years?[ -]old)\b", _after("aged?", r"\d{1,3}")),
    "CA_HEALTH_NUMBER": (_after("(?:health|ohip)(?: card)?", r"\d{4}[ -]?\d{3}[ -]?\d{3}"),),
    "CA_SOCIAL_INSURANCE_NUMBER": (
        r"(?<![\w-])(\d{3}[ -]\d{3}[ -]\d{3})(?![\w-])",
        _after("sin|social insurance", r"\d{9}"),
    ),
    "CREDIT_DEBIT_CARD_CVV": (_after("cvv2?|cvc2?|security code|card verification", r"\d{3,4}"),),
    "CREDIT_DEBIT_CARD_EXPIRY": (
        _after(
            "exp(?:iry|ires|iration)?(?: date)?(?: on)?|valid (?:thru|until)", r"(?:0[1-9]|1[0-2])\s?[/-]\s?\d{2,4}"
        ),
    ),
    "DRIVER_ID": (_after("driver'?s? licen[cs]e|driving licen[cs]e|driver id", r"[A-Za-z0-9-]*\d[A-Za-z0-9-]{3,18}"),),
    "LICENSE_PLATE": (
        _after("licen[cs]e plate|number plate|registration plate|plate", r"[A-Z0-9]{1,4}[ -]?[A-Z0-9]{2,5}"),
    ),
    "NAME": (
        rf"(?i:my name is|i am called|name:|full name is|signed by|on behalf of) ({_NAME})",
        rf"(?<!\w)(?:Mr|Mrs|Ms|Miss|Dr|Prof)\.? ({_NAME})",
        rf"(?<!\w)(?:I am|I'm|This is) ({_NAME})(?=[,.!]| from| and|$)",
    ),
    "SWIFT_CODE": (_after("swift|bic", r"[A-Z]{6}[A-Z0-9]{2}(?:[A-Z0-9]{3})?"),),
    "UK_NATIONAL_HEALTH_SERVICE_NUMBER": (_after("nhs", r"\d{3}[ -]?\d{3}[ -]?\d{4}"),),
    "UK_NATIONAL_INSURANCE_NUMBER": (r"(?<!\w)([A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?(?:\d{2} ?){3}[A-D])(?!\w)",),
    "UK_UNIQUE_TAXPAYER_REFERENCE_NUMBER": (_after("utr|unique taxpayer reference", r"\d{5} ?\d{5}"),),
    "URL": (r"(?<!\w)((?:https?://|www\.)[^\s<>\"']{3,2000}[^\s<>\"'.,;:!?)\]])",),
    "USERNAME": (_after("user ?name|login|user id|handle", r"[\w.@-]{2,64}"), r"(?<![\w@.])(@[A-Za-z_]\w{2,30})(?!\w)"),
    "US_BANK_ACCOUNT_NUMBER": (_after("(?:bank )?account", r"\d{6,17}"),),
    "US_BANK_ROUTING_NUMBER": (_after("routing|aba|rtn", r"\d{9}"),),
    "US_INDIVIDUAL_TAX_IDENTIFICATION_NUMBER": (
        r"(?<![\w-])(9\d{2}-(?:5\d|6[0-5]|7\d|8[0-8]|9[0-24-9])-\d{4})(?![\w-])",
    ),
    "US_PASSPORT_NUMBER": (_after("passport", r"[A-Z]?\d{8,9}"),),
    "US_SOCIAL_SECURITY_NUMBER": (
        r"(?<![\w-])((?!000|666|9)\d{3}-(?!00)\d{2}-(?!0000)\d{4})(?![\w-])",
        _after("ssn|social security", r"\d{3}[ -]?\d{2}[ -]?\d{4}"),
    ),
    "VEHICLE_IDENTIFICATION_NUMBER": (r"(?<!\w)([A-HJ-NPR-Z0-9]{17})(?!\w)",),
}


def _is_vehicle(number: str) -> bool:
    """Check the ninth character of a vehicle identification number (49 CFR 565.15)."""
    values = dict(zip("ABCDEFGHJKLMNPRSTUVWXYZ", [*range(1, 9), *range(1, 6), 7, 9, *range(2, 10)], strict=True))
    weights = (8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2)
    total = sum(w * (int(c) if c.isdigit() else values[c]) for w, c in zip(weights, number, strict=True))
    return number[8] == "0123456789X"[total % 11]


_CHECKS: Final[Mapping[str, Callable[[str], bool]]] = {"VEHICLE_IDENTIFICATION_NUMBER": _is_vehicle}


def find_sensitive(policy: Mapping[str, Any], text: str, source: Source) -> Iterator[GuardrailFinding]:
    """Yield the personal data and the matches of a caller's expressions in a text.

    Args:
        policy: The guardrail's `sensitiveInformationPolicyConfig`.
        text: The text.
        source: The side of the model that it is on.
    """
    for item in policy.get("piiEntitiesConfig") or ():
        if action := action_for(item, source):
            kind: str = item["type"]
            for start, end in _spans(kind, text):
                yield GuardrailFinding(
                    policy="sensitiveInformationPolicy",
                    entries="piiEntities",
                    entry={"type": kind, "match": text[start:end], "action": action, "detected": True},
                    spans=((start, end),),
                    placeholder=f"{{{kind}}}",
                )
    for item in policy.get("regexesConfig") or ():
        if action := action_for(item, source):
            for start, end in own_pattern(item["pattern"]).spans(text):
                match_details = {"name": item["name"], "regex": item["pattern"], "match": text[start:end]}
                yield GuardrailFinding(
                    policy="sensitiveInformationPolicy",
                    entries="regexes",
                    entry={**match_details, "action": action, "detected": True},
                    spans=((start, end),),
                    placeholder=f"{{{item['name']}}}",
                )


@lru_cache(maxsize=128)
def own_pattern(pattern: str) -> Pattern:
    """Compile a caller's expression, which never backtracks.

    Raises:
        PatternError: It is malformed, or needs look-around or back-references.
    """
    return Pattern(pattern)


def _spans(kind: str, text: str) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    lowered = text.lower()
    for rule in _rules(kind):
        if rule.concerns(lowered):
            spans += rule.spans(text)
    check = _CHECKS.get(kind)
    for pattern in _compiled(kind):
        spans += [match.span(1) for match in pattern.finditer(text) if check is None or check(match[1])]
    apart: list[tuple[int, int]] = []
    for span in sorted(spans):
        if apart and span[0] < apart[-1][1]:
            apart[-1] = (apart[-1][0], max(apart[-1][1], span[1]))
        else:
            apart.append(span)
    return apart


@lru_cache(maxsize=64)
def _rules(kind: str) -> tuple[RedactionRule, ...]:
    return tuple(rule for rule in DEFAULT_RULES if rule.name == _RULES.get(kind))


@lru_cache(maxsize=64)
def _compiled(kind: str) -> tuple[re.Pattern[str], ...]:
    return tuple(map(re.compile, _PATTERNS.get(kind, ())))
