"""What leads to a person: addresses, numbers of phones, cards, accounts, computers, and identity numbers."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from .checksums import NATIONAL, luhn, mod_97
from .rule import RedactionRule
from .rule import rule as _rule

_rule = partial(_rule, kind="personal")

_NOT_SIGNS: Final = re.compile(r"[^0-9A-Za-z]")


def _signs(text: str) -> str:
    """Letters and digits alone: the same number however it is written."""
    return _NOT_SIGNS.sub("", text).upper()


def _is_card(digits: str) -> bool:
    """Length and first digits of the issuers (ISO/IEC 7812), and Luhn's check."""
    two, three, four, length = int(digits[:2]), int(digits[:3]), int(digits[:4]), len(digits)
    known = (
        (digits[0] == "4" and length in (13, 16, 19))
        or ((51 <= two <= 55 or 2221 <= four <= 2720) and length == 16)
        or (two in (34, 37) and length == 15)
        or ((four == 6011 or two == 65 or 644 <= three <= 649 or two == 62) and 16 <= length <= 19)
        or (3528 <= four <= 3589 and 16 <= length <= 19)
        or ((two in (36, 38, 39) or 300 <= three <= 305) and length == 14)
    )
    return known and luhn(digits)


_CARD_GROUPS: Final = {(4, 4, 4, 4), (4, 6, 5), (4, 6, 4), (4, 4, 4, 4, 3), *((length,) for length in range(13, 20))}
_PIECE: Final = re.compile(r"[^ -]+")


def _card(text: str) -> list[tuple[int, int]]:
    """The cards' numbers in a run of groups of digits, grouped as cards are."""
    groups = [(match.start(), match.end()) for match in _PIECE.finditer(text)]
    found: list[tuple[int, int]] = []
    for at in range(len(groups)):
        if found and groups[at][0] < found[-1][1]:
            continue
        for count in (1, 3, 4, 5):
            some = groups[at : at + count]
            if len(some) < count or tuple(end - start for start, end in some) not in _CARD_GROUPS:
                continue
            start, end = some[0][0], some[-1][1]
            digits = _signs(text[start:end])
            if digits.isdigit() and _is_card(digits):
                found.append((start, end))
                break
    return found


_IBAN_LENGTHS: Final[Mapping[str, int]] = dict(
    (pair[:2], int(pair[2:]))
    for pair in (  # noqa: SIM905 - the table as it is printed
        "AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 EE20 EG29 "
        "ES24 FI18 FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 "
        "LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 PT25 "
        "QA29 RO24 RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20"
    ).split()
)
"""SWIFT's IBAN registry."""


def _iban(text: str) -> list[tuple[int, int]]:
    """An account's number: as long as its country writes it, and the check is right."""
    wanted = _IBAN_LENGTHS.get(text[:2].upper(), 0)
    places = [place for place, each in enumerate(text, 1) if each not in " -"]
    if not wanted or len(places) < wanted:
        return []
    end = places[wanted - 1]
    is_whole = end == len(text) or not text[end].isalnum()
    return [(0, end)] if is_whole and mod_97(_signs(text[:end])) else []


_DIGITS: Final = re.compile(r"[0-9]+")


def _phone(text: str) -> list[tuple[int, int]]:
    """E.164: at most 15 digits; fewer than 8 are no number of a person."""
    digits, end = 0, 0
    for match in _DIGITS.finditer(text):
        digits += match.end() - match.start()
        if digits > 15:
            break
        if digits >= 8:
            end = match.end()
    return [(0, end)] if end else []


def _ip(text: str) -> list[tuple[int, int]]:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return []
    return [] if address.is_loopback or address.is_unspecified else [(0, len(text))]


def _ip_of_six(text: str) -> list[tuple[int, int]]:
    """An address of version 6; `a::b` and the like are names in programs rather."""
    trimmed = text.rstrip(":") if not text.endswith("::") else text
    first = trimmed.partition(":")[0]
    is_likely = trimmed.count(":") >= 3 or (len(first) >= 3 and any(each.isdigit() for each in trimmed))
    return _ip(trimmed) if is_likely else []


def _national(check: Callable[[str], bool], text: str) -> list[tuple[int, int]]:
    kept = text if check.__name__ == "_finland" else _signs(text)
    return [(0, len(text))] if check(kept) else []


PERSONAL_DATA: Final[tuple[RedactionRule, ...]] = (
    # RFC 5321: at most 64 characters before the @ and 255 behind it.
    _rule(
        "email",
        r"(?<![\w.!#$%&'*+/=?^`{|}~-])[\w.!#$%&'*+/=?^`{|}~-]{1,64}+@(?:[\w-]{1,63}+\.){1,8}[^\W\d_]{2,63}(?![\w@])",
        anchors=("@",),
        canonical=str.lower,
    ),
    _rule(
        "iban",
        r"(?<![A-Za-z0-9])[A-Za-z]{2}[0-9]{2}(?:[ -]?[A-Za-z0-9]){11,30}+",
        accept=_iban,
        canonical=_signs,
    ),
    # ITU-T E.164. Before cards: a number behind a + that happens to pass Luhn's check is a phone's.
    _rule(
        "phone",
        r"\+(?<![0-9A-Za-z+]\+)[1-9](?:[ ./-]{0,2}\(?[0-9]\)?){7,}+(?![0-9A-Za-z_])",
        accept=_phone,
        anchors=("+",),
        canonical=_signs,
    ),
    _rule(
        "card",
        r"[0-9](?<![0-9A-Za-z_.]{2})(?<![0-9][ -][0-9])(?:[ -]?[0-9]){12,}+[0-9A-Za-z_]*+",
        accept=_card,
        canonical=_signs,
    ),
    *(
        _rule(
            "national id",
            rf"(?<![0-9A-Za-z_.-]){pattern}(?![0-9A-Za-z_-])",
            accept=partial(_national, check),
            anchors=anchors,
            canonical=_signs,
        )
        for pattern, anchors, check in NATIONAL.values()
    ),
    # The United States' number has no check: it is known by what is said before it.
    _rule(
        "national id",
        r"(?<![a-z])(?:ssn|social security(?: number| no\.?)?)[\"'\\]{0,4}\s{0,4}(?:[:=]|is|was)?\s{0,4}[\"'\\]{0,4}"
        r"([0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4})(?![0-9A-Za-z_-])",
        ignore_case=True,
        part=1,
        anchors=("ssn", "social security"),
        canonical=_signs,
    ),
    # The North American plan's own way of writing.
    _rule(
        "phone",
        r"(?<![0-9A-Za-z_.+-])(?:\([2-9][0-9]{2}\) ?|[2-9][0-9]{2}[-.])[2-9][0-9]{2}[-.][0-9]{4}"
        r"(?![0-9A-Za-z_.-]?[0-9])",
        canonical=_signs,
    ),
    _rule(
        "ip",
        r"[0-9](?<![0-9A-Za-z_.-]{2})[0-9]{0,2}\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}(?![0-9A-Za-z_]|\.[0-9])",
        accept=_ip,
    ),
    _rule(
        "ip",
        r"(?<![0-9A-Za-z:.])(?:[0-9A-Fa-f]{0,4}:){2,7}+[0-9A-Fa-f]{0,4}(?![0-9A-Za-z])",
        accept=_ip_of_six,
        anchors=(":",),
        canonical=str.lower,
    ),
)
"""Names and postal addresses have no form that a rule could tell: for these plug a recogniser into `Redactor`."""
