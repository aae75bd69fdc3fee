"""Text on request: fixed sentences about a topic, in the requested length, that do not claim knowledge.

The scripted model knows nothing about the world. Asked for a text, it puts the topic into the sentences of the
blueprints' scripts; asked to summarize a text, it picks sentences of that text.
"""

from __future__ import annotations

import re
from collections import Counter

from .language import STOPWORDS, content_stems, pattern, stem, words
from .numbers import find_numbers
from .recognize import topic
from .script import script

_DEFAULT_SENTENCES = 8
_SUMMARY_SENTENCES = 2
_MOST_WORDS = 20_000
_SENTENCES_PER_PARAGRAPH = 4


def wants_text(prompt: str) -> bool:
    """Return whether a prompt asks for a text to be written or summarized."""
    return any(pattern("answers", name).search(prompt) for name in ("text", "summary"))


def write_text(prompt: str) -> str:
    """Write the text that a prompt asks for: a summary of quoted text, or sentences about its topic."""
    material = _material(prompt)
    if material and pattern("answers", "summary").search(prompt):
        return summarize(material, sentences=_lengths(prompt).get("sentence", _SUMMARY_SENTENCES))
    return compose(topic(prompt) or "the question", _lengths(prompt))


def compose(about: str, lengths: dict[str, int]) -> str:
    """Write sentences about a topic.

    Args:
        about: The topic.
        lengths: The count of each unit: "word", "sentence", "line" or "paragraph".
    """
    if "word" in lengths:
        word_count = lengths["word"]
        chosen: list[str] = []
        place = 0
        while len(chosen) < word_count:
            chosen += _sentence(place, about).split()
            place += 1
        text = " ".join(chosen[:word_count])
        return text if text.endswith(".") else text.rstrip(",") + "."
    if "paragraph" in lengths:
        size = _SENTENCES_PER_PARAGRAPH
        starts = range(0, size * lengths["paragraph"], size)
        return "\n\n".join(" ".join(_sentence(start + i, about) for i in range(size)) for start in starts)
    if "line" in lengths:
        return "\n".join(_sentence(line, about) for line in range(lengths["line"]))
    return " ".join(_sentence(place, about) for place in range(lengths.get("sentence", _DEFAULT_SENTENCES)))


def summarize(text: str, *, sentences: int) -> str:
    """Pick the sentences of `text` that share most of its frequent words, in their order."""
    parts = split_sentences(text)
    counts = Counter(stem(word) for word in words(text) if word not in STOPWORDS)
    weights = [sum(counts[stem(w)] for w in set(words(part))) / (4 + len(words(part))) for part in parts]
    best = sorted(range(len(parts)), key=lambda i: (-weights[i], i))[: max(1, sentences)]
    return " ".join(parts[i] for i in sorted(best))


def best_sentence(question: str, texts: list[str]) -> str | None:
    """Find the sentence that shares at least two content words, and half of them, with a question."""
    question_stems = content_stems(question)
    best, most = None, 1
    for sentence in (sentence for text in texts for sentence in split_sentences(text)):
        shared = len(question_stems & {stem(word) for word in words(sentence)})
        is_answer = not sentence.endswith("?") and not pattern("answers", "instruction").match(sentence)
        if shared > most and shared * 2 >= len(question_stems) and is_answer:
            best, most = sentence, shared
    return best


def split_sentences(text: str) -> list[str]:
    """Split a text into sentences and lines."""
    return [part.strip() for part in re.split(r"(?<=[.!?])\s+|\n+", text) if part.strip()]


def _sentence(place: int, about: str) -> str:
    sentences = script().sentences
    cycle, index = divmod(place, len(sentences))
    sentence = sentences[index].format(topic=about)
    return sentence if cycle == 0 else f"Round {cycle + 1}: {sentence[0].lower()}{sentence[1:]}"


def _lengths(prompt: str) -> dict[str, int]:
    lengths: dict[str, int] = {}
    for amount, unit in pattern("answers", "length").findall(prompt):
        numbers = find_numbers(amount) or find_numbers(amount.split()[-1].replace("-", " "))
        whole = [number for number in numbers if isinstance(number, int) and number > 0]
        if whole:
            lengths[unit.lower()] = min(whole[-1], _MOST_WORDS if unit.lower() == "word" else _MOST_WORDS // 20)
        elif amount.lower().split()[-1] in ("a", "one", "single", "short"):
            lengths[unit.lower()] = 1
    return lengths


def _material(prompt: str) -> str:
    """Return the text to process: the part after a colon or a line break, or in quotation marks."""
    for form in (r":\s+(.+)", r"\n(.+)", r"\"([^\"]+)\""):
        if match := re.search(form, prompt, re.DOTALL):
            return match[1].strip()
    return ""
