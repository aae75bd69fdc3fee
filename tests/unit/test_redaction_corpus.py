"""Redaction on a labelled corpus: at least 95 % recall and precision, of every kind."""

from __future__ import annotations

import random
import string
from collections import Counter

import pytest
from labelled_texts import KINDS, corpus

from loomlib.redaction import Redactor

_AT_LEAST = 0.95


@pytest.fixture(scope="module")
def counts() -> tuple[Counter[str], list[str]]:
    """How many values of each kind were redacted whole, and what was redacted that is not a value."""
    redactor, hits, mistakes = Redactor(), Counter[str](), list[str]()
    for labelled in corpus(seed=7, each=40, harmless=800):
        matches = redactor.redact(labelled.text).found
        for value in labelled.values:
            hits[value.kind] += any(match.start <= value.start and value.end <= match.end for match in matches)
        mistakes += [
            f"{match.rule} in {labelled.text!r}"
            for match in matches
            if not any(match.start < value.end and value.start < match.end for value in labelled.values)
        ]
    return hits, mistakes


def test_the_corpus_has_twenty_kinds() -> None:
    assert len(KINDS) >= 20


@pytest.mark.parametrize("kind", KINDS)
def test_the_recall_of_every_kind(counts: tuple[Counter[str], list[str]], kind: str) -> None:
    assert counts[0][kind] / 40 >= _AT_LEAST


def test_the_precision(counts: tuple[Counter[str], list[str]]) -> None:
    hits, mistakes = counts
    total = sum(hits.values())
    assert total / (total + len(mistakes)) >= _AT_LEAST, mistakes[:10]


@pytest.mark.parametrize("sentence", ["my api key is {}.", "The access token is {}", "client secret: {}, keep it"])
@pytest.mark.parametrize(
    ("alphabet", "length"),
    [
        (string.ascii_letters + string.digits, 16),
        (string.ascii_letters + string.digits + "-_", 43),
        (string.ascii_lowercase + string.digits, 20),
        (string.hexdigits[:16], 32),
    ],
    ids=["mixed case", "base64url", "lower case", "hexadecimal"],
)
def test_the_recall_of_keys_of_unknown_form_in_words(sentence: str, alphabet: str, length: int) -> None:
    redactor, choose = Redactor(), random.Random(7)
    keys = ["".join(choose.choices(alphabet, k=length)) for _ in range(200)]
    is_redacted = [key not in redactor.redact(sentence.format(key)).text for key in keys]
    assert sum(is_redacted) / len(is_redacted) >= _AT_LEAST


@pytest.mark.parametrize(
    "text",
    [
        "The password is wrong.",
        "my password is not working, and the password is required",
        "Look at example dot com, we meet at noon",
        "Passwords are hashed. The password was changed.",
        "born in Lisbon on a Monday",
    ],
)
def test_talk_about_passwords_and_places_stays(text: str) -> None:
    assert Redactor().redact(text).text == text


def test_placeholders_without_numbers() -> None:
    assert Redactor(numbered=False).redact("ann@example.org and bob@example.org").text == "[email] and [email]"
