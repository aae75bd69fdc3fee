"""Plain text on request: deterministic sentences about a topic, in the length asked for, that claim no knowledge.

The scripted model knows nothing about the world, so its texts speak about the topic as a writer's exercise would.
Asked to summarise a text it picks sentences of that text.
"""

from __future__ import annotations

import re
from collections import Counter

from loomlib.local.models.numerals import find_numbers
from loomlib.local.models.reading import topic
from loomlib.local.models.words import STOPWORDS, stem, words

_REQUEST = re.compile(
    r"\b(?:write|compose|draft|tell\b.*\b(?:story|about)|explain|describe|essay|poem|story|paragraphs?|haiku|article|limerick|blog)\b",
    re.IGNORECASE,
)
_SUMMARY = re.compile(r"\b(?:summari[sz]e|summary|tl;?dr|key points?|shorten)\b", re.IGNORECASE)
_LENGTH = re.compile(r"(\S+(?:[\s-]\S+)?)[\s-]+(word|sentence|paragraph|line)s?\b", re.IGNORECASE)
_INSTRUCTION = re.compile(
    r"(?:you|when|if|use|always|never|answer|do|don't|be|keep|work|write|please|respond|reply|call|only|make|think|tell|ask)\b",
    re.IGNORECASE,
)
_DEFAULT_SENTENCES = 8
_MAX_WORDS = 20_000

_SENTENCES = (
    "This is a text about {topic}, written to a plan and not from knowledge.",
    "It starts where a reader would start, with the words {topic} and the question of what they cover.",
    "A first paragraph would name what belongs to {topic} and what does not.",
    "A second look at {topic} would ask who meets it, and when.",
    "Someone new to {topic} would want one clear example before any detail.",
    "Someone who knows {topic} well would look for the exceptions first.",
    "Between the two lies most of what can be said about {topic} in a few lines.",
    "A good text about {topic} moves in small steps, one thought to a sentence.",
    "Each sentence here adds a step, and each step keeps {topic} in view.",
    "Where facts about {topic} are needed, a source should be named beside them.",
    "Where an opinion about {topic} is given, it should be marked as one.",
    "A pause helps as well, because {topic} reads better with some room around it.",
    "Halfway through, it is worth asking again why {topic} matters to the reader.",
    "The answer may have changed by then, and the text about {topic} can say so.",
    "Towards the end the threads come together, and {topic} is named once more.",
    "So much for {topic}, told in plain sentences by a scripted model.",
)


def wants_text(prompt: str) -> bool:
    """Whether the prompt asks for a text to be written."""
    return _REQUEST.search(prompt) is not None or _SUMMARY.search(prompt) is not None


def write_text(prompt: str) -> str:
    """The text that `prompt` asks for: a summary of what it holds, or sentences about its topic in the asked length."""
    material = _material(prompt)
    if _SUMMARY.search(prompt) and material:
        return summarize(material, sentences=_asked(prompt).get("sentence", 2))
    return compose(topic(prompt) or "the question", _asked(prompt))


def compose(about: str, lengths: dict[str, int]) -> str:
    """Sentences about a topic; `lengths` maps "word", "sentence", "line" or "paragraph" to how many."""
    if "word" in lengths:
        wanted = lengths["word"]
        chosen: list[str] = []
        place = 0
        while len(chosen) < wanted:
            chosen += _sentence(place, about).split()
            place += 1
        text = " ".join(chosen[:wanted])
        return text if text.endswith(".") else text.rstrip(",") + "."
    if "paragraph" in lengths:
        return "\n\n".join(" ".join(_sentence(4 * p + s, about) for s in range(4)) for p in range(lengths["paragraph"]))
    if "line" in lengths:
        return "\n".join(_sentence(line, about) for line in range(lengths["line"]))
    return " ".join(_sentence(place, about) for place in range(lengths.get("sentence", _DEFAULT_SENTENCES)))


def summarize(text: str, *, sentences: int) -> str:
    """The sentences of `text` that share most of its frequent words, in their order."""
    found = split_sentences(text)
    counts = Counter(stem(word) for word in words(text) if word not in STOPWORDS)
    weight = {i: sum(counts[stem(w)] for w in set(words(s))) / (4 + len(words(s))) for i, s in enumerate(found)}
    best = sorted(sorted(weight, key=lambda i: (-weight[i], i))[: max(1, sentences)])
    return " ".join(found[i] for i in best)


def best_sentence(question: str, texts: list[str]) -> str | None:
    """The sentence of `texts` that shares at least two content words, and half of them, with the question."""
    asked = {stem(word) for word in words(question) if word not in STOPWORDS}
    best, most = None, 1
    sentences = [sentence for text in texts for sentence in split_sentences(text)]
    for sentence in [sentence for sentence in sentences if not _INSTRUCTION.match(sentence)]:
        shared = len(asked & {stem(word) for word in words(sentence)})
        if shared > most and shared * 2 >= len(asked) and not sentence.endswith("?"):
            best, most = sentence, shared
    return best


def split_sentences(text: str) -> list[str]:
    return [part.strip() for part in re.split(r"(?<=[.!?])\s+|\n+", text) if part.strip()]


def _sentence(place: int, about: str) -> str:
    cycle, index = divmod(place, len(_SENTENCES))
    sentence = _SENTENCES[index].format(topic=about)
    return sentence if cycle == 0 else f"Round {cycle + 1}: {sentence[0].lower()}{sentence[1:]}"


def _asked(prompt: str) -> dict[str, int]:
    lengths: dict[str, int] = {}
    for amount, unit in _LENGTH.findall(prompt):
        numbers = find_numbers(amount) or find_numbers(amount.split()[-1].replace("-", " "))
        whole = [number for number in numbers if isinstance(number, int) and number > 0]
        if whole:
            lengths[unit.lower()] = min(whole[-1], _MAX_WORDS if unit.lower() == "word" else _MAX_WORDS // 20)
        elif amount.lower().split()[-1] in ("a", "one", "single", "short"):
            lengths[unit.lower()] = 1
    return lengths


def _material(prompt: str) -> str:
    """The text to work on: what follows a colon or a line break, or stands in quotation marks."""
    for pattern in (r":\s+(.+)", r"\n(.+)", r"\"([^\"]+)\""):
        if match := re.search(pattern, prompt, re.DOTALL):
            return match[1].strip()
    return ""
