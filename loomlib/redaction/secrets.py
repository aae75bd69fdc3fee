"""Rules for secrets: keys, tokens, passwords, private keys, and random-looking text."""

from __future__ import annotations

import re
from collections import Counter
from functools import partial
from itertools import pairwise
from math import log2
from typing import Final

from .rule import RedactionRule
from .rule import rule as _rule

_rule = partial(_rule, kind="secret")

_NAMED_VALUE: Final = r"""(?:[\w.~+/=\-!#$%^*@:()?|]|&(?!\w+=))"""

_PASSWORD_NAME: Final = r"(?:pg|db|mysql|sql|user|admin)?(?:password|passwd|passphrase|pwd)"  # noqa: S105 - a pattern

_PASSWORD_VALUE: Final = r"([\"'“‘`][^\"'“”‘’`\n]{3,}+|[^\s\"'“‘`]{4,}+)"  # noqa: S105 - a pattern
"""A password in a sentence: in quotation marks, or without white space."""

_FOR_SOMETHING: Final = r"(?:\s{1,4}(?:for|to|of|on)(?:\s{1,4}[a-z][\w'-]{0,30}){1,3}?)?"

_END_OF_SENTENCE: Final = ".,;:?)]}"

_KEY_IN_WORDS: Final = (
    rf"{_FOR_SOMETHING}(?:[\"'\\]{{0,4}}\s{{0,4}}[=:]|\s{{1,4}}(?:is|was|will be)\b:?)\s{{0,4}}(?:now\s{{1,4}})?"
    r"[\"'“‘`\\]{0,4}([A-Za-z0-9+/_][\w.~+/-]{11,}+={0,2})"
)
"""What follows the name of a key in a sentence. The value holds no `=` or `:` but at its end, so the work is linear."""

_LEAST_KEY_BITS: Final = 3.0
_LEAST_KEY_CHANGES: Final = 0.2
_LEAST_CHANGES: Final = 0.4
_EXAMINED: Final = 4096
_BETWEEN_WORDS: Final = re.compile(r"[-._/]")
_WORD: Final = re.compile(r"(?:[a-z]*+(?:[A-Z][a-z]++)*+|[A-Z]*+)[0-9]{0,4}")


def _key_in_words(text: str) -> list[tuple[int, int]]:
    """Return the span of a value after "the key is" that is too random to be words, a version or a path.

    It must have at least 3 bits per character (Shannon entropy over its own letters), and change between lower-case
    letters, upper-case letters and digits at 20 % of the steps or more: random hexadecimal digits do so at 47 % on
    average. Without digits (as in 6 % of random 16-character values), it must do so at 40 %. Words, in CamelCase
    too, and numbers between hyphens, points and slashes are not a key.
    """
    value = text.rstrip(_END_OF_SENTENCE)
    classes = _classes(value)
    if len(value) < 12 or len(set(classes)) < 2 or all(map(_WORD.fullmatch, _BETWEEN_WORDS.split(value))):
        return []
    least = _LEAST_KEY_CHANGES if "0" in classes else _LEAST_CHANGES
    return [(0, len(value))] if _changes(classes) >= least and _bits(value) >= _LEAST_KEY_BITS else []


def _classes(text: str) -> str:
    """Return the class of each letter and digit: `a`, `A` or `0`."""
    return "".join("a" if c.islower() else "A" if c.isupper() else "0" if c.isdigit() else "" for c in text[:_EXAMINED])


def _changes(classes: str) -> float:
    """Return the share of steps at which the class changes, of two characters or more."""
    return sum(a != b for a, b in pairwise(classes)) / (len(classes) - 1)


def _bits(text: str) -> float:
    """Return the bits per character (Shannon entropy over the text's own letters)."""
    counts = Counter(text[:_EXAMINED])
    total = counts.total()
    return -sum(count / total * log2(count / total) for count in counts.values())


KNOWN_FORMS: Final[tuple[RedactionRule, ...]] = (
    # RFC 7468; headers of RFC 1421 and line ends written as \n included. A truncated key extends to the text's end.
    _rule(
        "private key",
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:[^-]|-(?!----))*+"
        r"(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)?",
        anchors=("-----begin ",),
    ),
    # IAM user guide, "Understanding unique ID prefixes": AKIA long-term keys, ASIA temporary ones, ABIA bearer tokens.
    _rule("aws access key", r"\b(?:AKIA|ASIA|ABIA)[A-Z2-7]{16}\b", anchors=("akia", "asia", "abia")),
    _rule(
        "aws secret key",
        r"(?:secret_?(?:access_?)?key|session_?token)[\"'\\]{0,4}\s{0,4}[=:]\s{0,4}[\"'\\]{0,4}([\w/+=-]{16,})",
        ignore_case=True,
        part=1,
        anchors=("secret", "session"),
    ),
    # In prose: "my secret key is wJalr…", "Secret access key: wJalr…".
    _rule(
        "aws secret key",
        rf"(?<![a-z])secret[ _-]?(?:access[ _-]?)?key{_KEY_IN_WORDS}",
        ignore_case=True,
        part=1,
        anchors=("secret",),
        accept=_key_in_words,
    ),
    # A key's id with its secret: 40 characters of base64.
    _rule(
        "aws secret key",
        r"\b(?:AKIA|ASIA)[A-Z2-7]{16}[\s:;,|/\"'\\]{1,8}([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])",
        part=1,
        anchors=("akia", "asia"),
    ),
    # Signature Version 4 in presigned addresses and Authorization headers.
    _rule(
        "aws signature",
        r"(?:Credential|Signature|Security-Token)=([^&,\s\"'<>\\\[\]]++)",
        ignore_case=True,
        part=1,
        anchors=("credential=", "signature=", "security-token="),
    ),
    # RFC 6750 and RFC 7617.
    _rule("bearer token", r"\bBearer\s{1,8}([\w.~+/=-]{8,})", ignore_case=True, part=1, anchors=("bearer",)),
    _rule(
        "basic credentials",
        r"\bAuthorization[\"'\\]{0,4}\s{0,4}[:=]\s{0,4}[\"'\\]{0,4}Basic\s{1,8}([\w+/=-]{6,})",
        ignore_case=True,
        part=1,
        anchors=("basic",),
    ),
    # RFC 7519: two base64url objects ({" is eyJ) and a signature.
    _rule(
        "json web token",
        r"(?<![\w-])eyJ[\w-]{8,}+\.eyJ[\w-]{8,}+\.[\w-]*+",
        anchors=("eyj",),
    ),
    # RFC 3986, userinfo; the password of a database's address may have a slash. A port and [IPv6] are not one.
    _rule(
        "password",
        r"://[^\s/:@\"'<>\[]{0,256}:(?![0-9]{1,5}[/?#])((?:[^\s/@\"'<>]|/(?!/)){1,256}+)@",
        part=1,
        anchors=("://",),
    ),
    # Documented formats of providers' keys.
    _rule("api key", r"\b(?:gh[pousr]_[A-Za-z0-9]{36,}+|github_pat_[A-Za-z0-9_]{22,}+)", anchors=("gh", "github")),
    _rule("api key", r"\bglpat-[\w-]{20,}+", anchors=("glpat-",)),
    _rule("api key", r"\bsk-[\w-]{20,}+", anchors=("sk-",)),
    _rule("api key", r"\b(?:sk|rk|whsec)_(?:live_|test_)?[0-9A-Za-z]{16,}+", anchors=("sk_", "rk_", "whsec_")),
    _rule("api key", r"\bxox[a-z]-[\w-]{10,}+", anchors=("xox",)),
    _rule("api key", r"hooks\.slack\.com/services/([\w/]{20,}+)", part=1, anchors=("hooks.slack.com",)),
    _rule("api key", r"\b(?:AIza[\w-]{35}|ya29\.[\w-]{20,}+|GOCSPX-[\w-]{20,}+)", anchors=("aiza", "ya29", "gocspx")),
    _rule("api key", r"\bSG\.[\w-]{16,32}\.[\w-]{32,}+", anchors=("sg.",)),
    _rule(
        "api key",
        r"\b(?:npm_[A-Za-z0-9]{36}|pypi-AgE[\w-]{50,}+|hf_[A-Za-z0-9]{30,}+)",
        anchors=("npm_", "pypi-", "hf_"),
    ),
    _rule("api key", r"\b(?:dapi[0-9a-f]{32}|do[opr]_v1_[0-9a-f]{64})\b", anchors=("dapi", "_v1_")),
    # Amazon Bedrock API keys, long-term and short-term.
    _rule(
        "api key",
        r"\b(?:ABSK[A-Za-z0-9+/]{60,}+={0,2}|bedrock-api-key-[\w+/=-]{20,}+)",
        anchors=("absk", "bedrock-api-key-"),
    ),
)
"""Documented formats that mean nothing else; these are redacted in reports, too."""

_NOT_A_PASSWORD: Final = frozenset(
    """about again already also always another anything applied available bad based being blank both broken case
    changed characters common complex compromised correct different difficult digits due easy either empty encrypted
    enough entered example exposed expired expiring field fine forgotten given going good guessed hard hashed here
    hidden important in incorrect insecure invalid its just kept known leaked least less letters like long longer lost
    made mandatory masked meant missing more much my needed never new none not nothing obvious okay okayed old only
    optional ours part personal private protected public recommended rejected required reset right safe same saved
    secret secure sensitive sent set shared short shorter simple something still stolen stored strong sufficient
    temporary that the their them then there this those to too two under unique unknown unsafe updated used useful
    valid very visible weak what when where which with without working written wrong your yours""".split()  # noqa: SIM905
)
"""Words that follow "the password is" and are not a password."""


def _password_in_words(text: str) -> list[tuple[int, int]]:
    """Return the span of the value after "the password is", without quotation marks and the end of the sentence.

    An adjective or participle is not a password, nor is a number of fewer than six digits ("is 12 characters"). In
    quotation marks, any text counts as a password.
    """
    if text[0] in "\"'“‘`":
        return [(1, len(text))]
    value = text.rstrip(_END_OF_SENTENCE)
    is_word = value.isalpha() and (value.islower() or value.istitle())
    if len(value) < 4 or value.lower().strip("'’") in _NOT_A_PASSWORD:
        return []
    if (is_word and value.endswith(("ed", "ing", "able", "ible"))) or (value.isdigit() and len(value) < 6):
        return []
    return [(0, len(value))]


def _after(sign: re.Pattern[str], text: str) -> list[tuple[int, int]]:
    """Return the span after the first match of `sign`."""
    match = sign.search(text)
    return [(match.end(), len(text))] if match else []


_NAMED: Final = (
    _rule(
        "password",
        rf"(?<![a-z]){_PASSWORD_NAME}[\"'\\]{{0,4}}\s{{0,4}}[=:]\s{{0,4}}[\"'\\]{{0,4}}({_NAMED_VALUE}{{4,}}+)",
        ignore_case=True,
        part=1,
        anchors=("passw", "passphrase", "pwd"),
    ),
    _rule(
        "secret",
        r"(?<![a-z])(?:(?:client|app|shared|consumer)[_-]?secret|secret|api[_-]?key|private[_-]?key|account[_-]?key|"
        r"(?:auth|access|refresh|id|bot)[_-]?token|token)"
        rf"[\"'\\]{{0,4}}\s{{0,4}}[=:]\s{{0,4}}[\"'\\]{{0,4}}({_NAMED_VALUE}{{8,}}+)",
        ignore_case=True,
        part=1,
        anchors=("secret", "key", "token"),
    ),
    # In prose, of any form: "my api key is Zq8v…", "client secret: Zq8v…".
    _rule(
        "secret",
        r"(?<![a-z])(?:client[ _-]?secret|(?:api|private|account|signing|encryption)[ _-]?key|token|secret)"
        rf"{_KEY_IN_WORDS}",
        ignore_case=True,
        part=1,
        anchors=("secret", "key", "token"),
        accept=_key_in_words,
    ),
    # An option of a command: `--password Sw0rdfish`.
    _rule(
        "password",
        r"--?(?:password|passwd|passphrase|pwd)\s{1,4}[\"']?([^\s\"']{4,}+)",
        ignore_case=True,
        part=1,
        anchors=("-passw", "-passphrase", "-pwd"),
    ),
    # A quoted value may have any character.
    _rule(
        "password",
        rf"(?<![a-z]){_PASSWORD_NAME}[\"'\\]{{0,4}}\s{{0,4}}[=:]\s{{0,4}}(?:\"[^\"\\\n]{{4,}}+(?=\")|'[^'\\\n]{{4,}}+(?='))",
        ignore_case=True,
        anchors=("passw", "passphrase", "pwd"),
        accept=partial(_after, re.compile(r"[=:]\s{0,4}[\"']")),
    ),
    # In prose: "my password is swordfish", "log in with the password swordfish".
    _rule(
        "password",
        rf"(?<![a-z-])(?:password|passwd|passphrase|passcode|pwd)s?{_FOR_SOMETHING}"
        rf"\s{{1,4}}(?:is|was|are|were|will be)\s{{1,4}}(?:now\s)?{_PASSWORD_VALUE}",
        ignore_case=True,
        part=1,
        anchors=("passw", "passphrase", "passcode", "pwd"),
        accept=_password_in_words,
    ),
    _rule(
        "password",
        r"\b(?:with|use|using|enter|type|try)\s{1,4}(?:the|my|our|this|your)?\s{0,4}(?:password|passphrase|passcode)\s{1,4}"
        rf"{_PASSWORD_VALUE}",
        ignore_case=True,
        part=1,
        anchors=("passw", "passphrase", "passcode"),
        accept=_password_in_words,
    ),
    # "I use swordfish as my password", but not "I use bcrypt as my password hash".
    _rule(
        "password",
        rf"\b(?:use[ds]?|using|set|chose|have)\s{{1,4}}{_PASSWORD_VALUE}"
        r"[\"'”’`]?\s{1,4}as\s{1,4}(?:my|our|his|her|their)\s{1,4}(?:[a-z][\w-]{0,30}\s{1,4})?"
        r"(?:password|passphrase|passcode)(?=[^\s\w-]|\s{0,4}\Z|\s{1,4}(?:for|on|to|of|in|at|and|but|or|with|"
        r"everywhere|there|here|now|too|so|since|because|until)\b)",
        ignore_case=True,
        part=1,
        anchors=("passw", "passphrase", "passcode"),
        accept=_password_in_words,
    ),
    _rule(
        "pin",
        rf"(?<![a-z])(?:pin|passcode)(?:\s(?:code|number))?{_FOR_SOMETHING}"
        r"(?:\s{1,4}(?:is|was)\s{1,4}|\s{0,4}[:=]\s{0,4}|\s)([0-9]{4,12})(?![\w-])",
        ignore_case=True,
        part=1,
        anchors=("pin", "passcode"),
    ),
)

_RANDOM_FROM: Final = 24
_LEAST_BITS: Final = 3.7


def _random(token: str) -> list[tuple[int, int]]:
    """Return the span of a token that is too random to be words, an identifier or a path.

    It must contain lower-case and upper-case letters and digits, have at least 3.7 bits per character (Shannon entropy
    over its own letters; 24 characters drawn from 62 have 4.3 on average), and change between these classes at 40 % of
    the steps or more: random text does so at 62 %, CamelCase much less. Hexadecimal ids are not matched, because traces
    are found by them; nor are absolute paths, which start with a word between two slashes.
    """
    if "/" in token and "-" in token:  # base64 has one, base64url the other; an ARN's resource has both
        return []
    root, _, folders = token.removeprefix("/").partition("/")
    if token.startswith("/") and folders and all(map(_WORD.fullmatch, _BETWEEN_WORDS.split(root))):
        return []
    classes = _classes(token)
    if len(set(classes)) < 3 or _changes(classes) < _LEAST_CHANGES:
        return []
    return [(0, len(token))] if _bits(token) >= _LEAST_BITS else []


HIGH_ENTROPY: Final = _rule(
    "secret",
    rf"[\w+/-](?<![\w+/=-]{{2}})[\w+/=-]{{{_RANDOM_FROM - 1},}}+",
    accept=_random,
)
"""The rule for random-looking text of 24 characters or more."""

SECRETS: Final[tuple[RedactionRule, ...]] = (*KNOWN_FORMS, *_NAMED, HIGH_ENTROPY)
"""All rules for secrets, including random-looking text."""

_SECRET_NAME: Final = re.compile(
    rf"(?:^|[_\-. ])(?:secret|{_PASSWORD_NAME}|authorization|cookie|credentials?|"
    r"(?:api|access|private|secret|account|shared)[_\- ]?key|"
    r"(?:auth|access|refresh|session|id|bearer|security)[_\- ]?token|"
    r"(?<!_to_first_)(?<!_per_)token)"  # a time to the first token and a price per token are not secrets
    r"(?:[_\-](?:old|new|previous|current|backup|dev|test|staging|prod|production|primary|secondary))?"
    r"(?:_?[0-9]{1,3})?$"  # the second of several: `PASSWORD2`, `API_KEY_2`
)
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def is_secret_name(name: str) -> bool:
    """Return whether a field of this name holds a secret, whatever its value (`clientSecret`, `api_key`)."""
    return len(name) <= 100 and _SECRET_NAME.search(_CAMEL.sub("_", name).lower()) is not None
