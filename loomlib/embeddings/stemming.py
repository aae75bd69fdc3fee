"""Stems of English words, as the reference implementations of ROUGE compute them.

Porter's algorithm ("An algorithm for suffix stripping", Program 14(3), 1980) with the extensions of NLTK's
`PorterStemmer` in its default mode, which rouge-score and so ADK's `response_match_score` use. It is implemented here
because NLTK would be by far the heaviest dependency of the evaluators, for one function.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

_IRREGULAR: Final = {
    word: stem
    for stem, words in {
        "sky": "sky skies",
        "die": "dying",
        "lie": "lying",
        "tie": "tying",
        "news": "news",
        "inning": "innings inning",
        "outing": "outings outing",
        "canning": "cannings canning",
        "howe": "howe",
        "proceed": "proceed",
        "exceed": "exceed",
        "succeed": "succeed",
    }.items()
    for word in words.split()
}
_VOWELS: Final = frozenset("aeiou")
_TO_ONE: Final = """
    ational:ate tional:tion enci:ence anci:ance izer:ize bli:ble alli:al entli:ent eli:e ousli:ous ization:ize
    ation:ate ator:ate alism:al iveness:ive fulness:ful ousness:ous aliti:al iviti:ive biliti:ble fulli:ful
"""
_TO_LESS: Final = "icate:ic ative: alize:al iciti:ic ical:ic ful: ness:"
_TO_NONE: Final = "al ance ence er ic able ible ant ement ment ent ion ou ism ate iti ous ive ize"
_STEP_2: Final = tuple(rule.split(":") for rule in _TO_ONE.split())
_STEP_3: Final = tuple(rule.split(":") for rule in _TO_LESS.split())
_STEP_4: Final = tuple(_TO_NONE.split())


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """Return the stem of a lower-case word: "relational" and "relate" give "relat"."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) <= 2:
        return word
    return _double_l(_final_e(_step_4(_step_3(_step_2(_y_to_i(_past(_plural(word))))))))


def _shape(word: str) -> str:
    """`c` for a consonant and `v` for a vowel, letter by letter; y is a vowel after a consonant."""
    shape: list[str] = []
    for letter in word:
        is_vowel = letter in _VOWELS or (letter == "y" and bool(shape) and shape[-1] == "c")
        shape.append("v" if is_vowel else "c")
    return "".join(shape)


def _measure(word: str) -> int:
    return _shape(word).count("vc")


def _has_vowel(word: str) -> bool:
    return "v" in _shape(word)


def _ends_short(word: str) -> bool:
    """Porter's condition *o: consonant, vowel, consonant other than w, x, y; in NLTK also vowel, consonant alone."""
    shape = _shape(word)
    if len(word) == 2:
        return shape == "vc"
    return shape.endswith("cvc") and word[-1] not in "wxy"


def _ends_double(word: str) -> bool:
    return len(word) >= 2 and word[-1] == word[-2] and _shape(word)[-1] == "c"


def _plural(word: str) -> str:
    if word.endswith("ies") and len(word) == 4:
        return word[:-1]
    for ending, new in (("sses", "ss"), ("ies", "i"), ("ss", "ss"), ("s", "")):
        if word.endswith(ending):
            return word[: len(word) - len(ending)] + new
    return word


def _past(word: str) -> str:
    if word.endswith("ied"):
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for ending in ("ed", "ing"):
        rest = word.removesuffix(ending)
        if rest != word and _has_vowel(rest):
            break
    else:
        return word
    if rest.endswith(("at", "bl", "iz")):
        return rest + "e"
    if _ends_double(rest):
        return rest if rest[-1] in "lsz" else rest[:-1]
    return rest + "e" if _measure(rest) == 1 and _ends_short(rest) else rest


def _y_to_i(word: str) -> str:
    rest = word[:-1]
    return rest + "i" if word.endswith("y") and len(rest) > 1 and _shape(rest)[-1] == "c" else word


def _step_2(word: str) -> str:
    if word.endswith("alli") and _measure(word[:-4]) > 0:
        return _step_2(word[:-2])
    for ending, new in _STEP_2:
        if word.endswith(ending):
            rest = word[: len(word) - len(ending)]
            return rest + new if _measure(rest) > 0 else word
    return word[:-1] if word.endswith("logi") and _measure(word[:-3]) > 0 else word


def _step_3(word: str) -> str:
    for ending, new in _STEP_3:
        if word.endswith(ending):
            rest = word[: len(word) - len(ending)]
            return rest + new if _measure(rest) > 0 else word
    return word


def _step_4(word: str) -> str:
    for ending in _STEP_4:
        if word.endswith(ending):
            rest = word[: len(word) - len(ending)]
            fits = _measure(rest) > 1 and (ending != "ion" or rest[-1] in "st")
            return rest if fits else word
    return word


def _final_e(word: str) -> str:
    rest = word[:-1]
    if word.endswith("e") and (_measure(rest) > 1 or (_measure(rest) == 1 and not _ends_short(rest))):
        return rest
    return word


def _double_l(word: str) -> str:
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word
