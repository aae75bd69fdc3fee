"""Rules for personal data: addresses, phone, card, account and identity numbers, IP addresses."""

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

_NOT_ALPHANUMERIC: Final = re.compile(r"[^0-9A-Za-z]")


def _alphanumeric(text: str) -> str:
    """Keep letters and digits only, so that a number has one canonical form."""
    return _NOT_ALPHANUMERIC.sub("", text).upper()


def _is_card(digits: str) -> bool:
    """Check the length and first digits of the issuers (ISO/IEC 7812), and Luhn's sum."""
    two, three, four, length = int(digits[:2]), int(digits[:3]), int(digits[:4]), len(digits)
    is_known_issuer = (
        (digits[0] == "4" and length in (13, 16, 19))
        or ((51 <= two <= 55 or 2221 <= four <= 2720) and length == 16)
        or (two in (34, 37) and length == 15)
        or ((four == 6011 or two == 65 or 644 <= three <= 649 or two == 62) and 16 <= length <= 19)
        or (3528 <= four <= 3589 and 16 <= length <= 19)
        or ((two in (36, 38, 39) or 300 <= three <= 305) and length == 14)
    )
    return is_known_issuer and luhn(digits)


_CARD_GROUPS: Final = {(4, 4, 4, 4), (4, 6, 5), (4, 6, 4), (4, 4, 4, 4, 3), *((length,) for length in range(13, 20))}
_PIECE: Final = re.compile(r"[^ -]+")


def _card(text: str) -> list[tuple[int, int]]:
    """Find card numbers in a run of groups of digits, grouped as on cards."""
    groups = [(match.start(), match.end()) for match in _PIECE.finditer(text)]
    spans: list[tuple[int, int]] = []
    for at in range(len(groups)):
        if spans and groups[at][0] < spans[-1][1]:
            continue
        for count in (1, 3, 4, 5):
            candidate = groups[at : at + count]
            if len(candidate) < count or tuple(end - start for start, end in candidate) not in _CARD_GROUPS:
                continue
            start, end = candidate[0][0], candidate[-1][1]
            digits = _alphanumeric(text[start:end])
            if digits.isdigit() and _is_card(digits):
                spans.append((start, end))
                break
    return spans


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
    """Find an IBAN at the start: of its country's length, with a valid check."""
    length = _IBAN_LENGTHS.get(text[:2].upper(), 0)
    positions = [position for position, letter in enumerate(text, 1) if letter not in " -"]
    if not length or len(positions) < length:
        return []
    end = positions[length - 1]
    is_whole = end == len(text) or not text[end].isalnum()
    return [(0, end)] if is_whole and mod_97(_alphanumeric(text[:end])) else []


_DECIMAL: Final = re.compile(r"\+[0-9]+\.[0-9]+")
_DIGITS: Final = re.compile(r"[0-9]+")


def _phone(text: str) -> list[tuple[int, int]]:
    """Find a phone number at the start (E.164): 8 to 15 digits. A signed decimal (`+12.345678`) is a number."""
    if _DECIMAL.fullmatch(text) and len(text) < 12:
        return []
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
    """Find an IPv6 address; `a::b` and the like are more likely names in code."""
    trimmed = text.rstrip(":") if not text.endswith("::") else text
    first = trimmed.partition(":")[0]
    is_likely = trimmed.count(":") >= 3 or (len(first) >= 3 and any(letter.isdigit() for letter in trimmed))
    return _ip(trimmed) if is_likely else []


def _national(check: Callable[[str], bool], text: str) -> list[tuple[int, int]]:
    number = text if check.__name__ == "_finland" else _alphanumeric(text)
    return [(0, len(text))] if check(number) else []


_DOT_WORD: Final = r"(?:\s{0,3}[\[({]\s?dot\s?[\])}]\s{0,3}|\s{1,3}dot\s{1,3})"
_DOT: Final = rf"(?:\.|{_DOT_WORD})"
_AT_BRACKETED: Final = r"\s{0,3}[\[({]\s?at\s?[\])}]\s{0,3}"
_TOP_LEVEL: Final = (
    "com|org|net|edu|gov|info|biz|io|ai|dev|app|co|me|eu|uk|us|ca|au|nz|in|de|at|ch|fr|es|pt|it|nl|be|lu|dk|no|se|fi|pl|"
    "cz|sk|hu|ro|bg|gr|ie|br|mx|ar|cl|jp|kr|cn|za|example|test"
)
_BEFORE_A_PLACE: Final = re.compile(
    r"(?:arrive|available|be|bought|buy|f[io]und|hosted|i[st]|listed|look|me|me?et|online|order|read|shop|sold|them|us|"
    r"visit|was|were|work)(?:d|ed|ing|s|ped)?",
    re.IGNORECASE,
)


def _email_in_words(text: str) -> list[tuple[int, int]]:
    """Confirm an e-mail address in words ("ann at example dot org"): "look at example dot org" is not one."""
    return [] if _BEFORE_A_PLACE.fullmatch(text.split(maxsplit=1)[0]) else [(0, len(text))]


_MONTH: Final = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\.?"
_DATE: Final = (
    r"[0-9]{4}[-/.][0-9]{1,2}[-/.][0-9]{1,2}|[0-9]{1,2}[-/.][0-9]{1,2}[-/.][0-9]{2,4}|"
    rf"[0-9]{{1,2}}(?:st|nd|rd|th)?\s(?:of\s)?{_MONTH},?\s[0-9]{{2,4}}|{_MONTH}\s[0-9]{{1,2}}(?:st|nd|rd|th)?,?\s[0-9]{{4}}"
)

PERSONAL_DATA: Final[tuple[RedactionRule, ...]] = (
    # RFC 5321: at most 64 characters before the @ and 255 after it.
    _rule(
        "email",
        r"(?<![\w.!#$%&'*+/=?^`{|}~-])[\w.!#$%&'*+/=?^`{|}~-]{1,64}+@(?:[\w-]{1,63}+\.){1,8}[^\W\d_]{2,63}(?![\w@])",
        anchors=("@",),
        canonical=str.lower,
    ),
    _rule(
        "email",
        rf"(?<![\w.])[\w+-]{{1,64}}+(?:{_DOT}[\w+-]{{1,64}}+){{0,4}}?(?:{_AT_BRACKETED}[\w-]{{1,63}}+(?:{_DOT}[\w-]{{1,63}}+){{0,4}}?{_DOT}|"
        rf"\s{{1,3}}at\s{{1,3}}[\w-]{{1,63}}+(?:{_DOT}[\w-]{{1,63}}+){{0,4}}?{_DOT_WORD})(?:{_TOP_LEVEL})(?![\w-])",
        ignore_case=True,
        anchors=("dot", "(at)", "[at]", "{at}"),
        accept=_email_in_words,
        canonical=lambda text: re.sub(r"\W+", " ", text.lower()),
    ),
    _rule(
        "iban",
        r"(?<![A-Za-z0-9-])[A-Za-z]{2}[0-9]{2}(?:[ -]?[A-Za-z0-9]){11,30}+",
        accept=_iban,
        canonical=_alphanumeric,
    ),
    # ITU-T E.164. Before cards: a number after a + that happens to pass Luhn's check is a phone number.
    _rule(
        "phone",
        r"\+(?<![0-9A-Za-z+]\+)[1-9](?:[ ./-]{0,2}\(?[0-9]\)?){7,}+(?![0-9A-Za-z_])",
        accept=_phone,
        anchors=("+",),
        canonical=_alphanumeric,
    ),
    _rule(
        "card",
        r"[0-9](?<![0-9A-Za-z_.]{2})(?<![0-9][ -][0-9])(?:[ -]?[0-9]){12,}+[0-9A-Za-z_]*+",
        accept=_card,
        canonical=_alphanumeric,
    ),
    *(
        _rule(
            "national id",
            rf"(?<![0-9A-Za-z_.-])(?:{pattern})(?![0-9A-Za-z_-])",
            accept=partial(_national, check),
            anchors=anchors,
            canonical=_alphanumeric,
        )
        for pattern, anchors, check in NATIONAL.values()
    ),
    # A US social security number has no check; it is recognized by the words before it.
    _rule(
        "national id",
        r"(?<![a-z])(?:ssn|social security(?: number| no\.?)?)[\"'\\]{0,4}\s{0,4}(?:[:=]|is|was)?\s{0,4}[\"'\\]{0,4}"
        r"([0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4})(?![0-9A-Za-z_-])",
        ignore_case=True,
        part=1,
        anchors=("ssn", "social security"),
        canonical=_alphanumeric,
    ),
    # Of a form or a record. "Born on 12 March" and "my birthday" in a conversation are what an agent should remember.
    _rule(
        "date of birth",
        r"(?<![a-z])(?:date of birth|d\.?o\.?b\.?|birth[ _-]?date)[\"'\\]{0,4}(?:\s{1,4}(?:is|was))?\s{0,4}"
        rf"[:=]?\s{{0,4}}(?:on\s{{1,4}})?(?:the\s{{1,4}})?[\"'\\]{{0,4}}({_DATE})(?![\w-])",
        ignore_case=True,
        part=1,
        anchors=("birth", "dob", "d.o.b"),
    ),
    # IEEE 802: six octets. All zeros and the broadcast address identify nobody.
    _rule(
        "mac address",
        r"(?<![0-9A-Za-z:-])(?!(?:00[:-]){5}00|(?:ff[:-]){5}ff)[0-9a-f]{2}([:-])(?:[0-9a-f]{2}\1){4}[0-9a-f]{2}(?![0-9A-Za-z:-])",
        ignore_case=True,
        canonical=_alphanumeric,
    ),
    # The North American Numbering Plan's own notation.
    _rule(
        "phone",
        r"(?<![0-9A-Za-z_.+-])(?:\([2-9][0-9]{2}\) ?|[2-9][0-9]{2}[-.])[2-9][0-9]{2}[-.][0-9]{4}"
        r"(?![0-9A-Za-z_.-]?[0-9])",
        canonical=_alphanumeric,
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
"""Rules for personal data. Names and postal addresses have no form that a rule could match: pass a recognizer for these
to `Redactor` in `finders`."""
