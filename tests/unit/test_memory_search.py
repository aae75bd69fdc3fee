"""Retrieval by meaning, words and neighbours: what it finds that meaning alone does not, and after any changes."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loomlib.embeddings import embed
from loomlib.local.memory.records.index import (
    LEAST_COVERAGE,
    NEIGHBOUR_SHARE,
    WORDS_SHARE,
    RecordsIndex,
)
from loomlib.local.memory.records.store import LongTermRecord, RecordsStore, Scope
from loomlib.local.memory.records.words import LENGTH_WEIGHT, SATURATION, words_of

SMALL_TALK = [
    "Ada: What a lovely weekend we had, thank you so much for the invitation!",
    "Ben: It was great to see everybody again, we should do it more often.",
    "Ada: Work is busy these days, but I am looking forward to the holidays.",
    "Ben: Same here, I hope that you find some time to rest.",
    "Ada: My sister called yesterday and told me about her new flat.",
    "Ben: That sounds exciting, I would love to visit her some day.",
]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[RecordsStore]:
    with closing(RecordsStore(tmp_path)) as opened:
        yield opened


def put(store: RecordsStore, texts: list[str], *, namespace: str = "/a/", first: int = 0) -> None:
    for number, (text, vector) in enumerate(zip(texts, embed(texts), strict=True), first):
        store.put("m", record(f"r{number:04d}", namespace, text), vector.tobytes())


def record(id: str, namespace: str, text: str) -> LongTermRecord:
    return LongTermRecord(record_id=id, namespace=namespace, strategy_id="s", text=text, created_at=1, updated_at=1)


def ask(index: RecordsIndex, text: str, scope: Scope | None = None, k: int = 3) -> list[tuple[str, float]]:
    return index.search("m", text, embed([text])[0], scope or Scope("/a/"), k=k)


def test_a_number_finds_its_record_where_meaning_alone_does_not(store: RecordsStore) -> None:
    put(store, [f"Order {number} was shipped on a Monday." for number in (48213, 48321, 48123, 48231)])
    question = "Where is order 48231?"
    index = RecordsIndex(store)
    assert index.nearest("m", embed([question])[0], Scope("/a/"), k=1)[0][0] != "r0003"
    assert ask(index, question)[0][0] == "r0003"


def test_words_match_in_another_form_and_stop_words_do_not_count(store: RecordsStore) -> None:
    put(store, [*SMALL_TALK, "Ada painted sunsets.", "Ben: He was there when it was what it was."])
    assert ask(RecordsIndex(store), "When was the painting of the sunset what it was?")[0][0] == "r0006"
    assert words_of("What is it?") == []


def test_the_answer_beside_a_question_is_found_with_it(store: RecordsStore) -> None:
    put(store, [*SMALL_TALK, "Ada: Did you get the results of the marathon in Lisbon?", "Ben: Yes. 3 hours 41!"])
    ranking = ask(RecordsIndex(store), "What were the results of the marathon in Lisbon?", k=3)
    assert ranking[0][0] == "r0006"
    assert "r0007" in dict(ranking)


def test_a_neighbour_in_another_namespace_gains_nothing(store: RecordsStore) -> None:
    put(store, ["Ada: The marathon in Lisbon was great."])
    put(store, ["Ben: Yes."], namespace="/b/", first=1)
    put(store, ["Ben: Yes."], namespace="/c/", first=2)
    scores = dict(ask(RecordsIndex(store), "marathon in Lisbon", Scope(None, "/")))
    assert scores["r0001"] == scores["r0002"]


def test_scores_lie_between_0_and_1_and_nothing_is_found_in_an_empty_scope(store: RecordsStore) -> None:
    put(store, ["same words", "same words", "same words"])
    scores = [score for _, score in ask(RecordsIndex(store), "same words")]
    assert scores == sorted(scores, reverse=True)
    assert all(0.9 < score <= 1 for score in scores)
    assert ask(RecordsIndex(store), "same words", Scope("/none/")) == []


def test_records_without_words_and_questions_without_words_do_no_harm(store: RecordsStore) -> None:
    put(store, ["", "…", "\x00", "Ada: marathon"])
    index = RecordsIndex(store)
    for question in ("", "…", "the", "marathon"):
        assert len(ask(index, question, k=10)) == 4


TEXTS = [
    "red boat",
    "blue boat on a lake",
    "the red lake",
    "a cat",
    "boats and cats",
    "lake lake lake",
    "old red cat",
    "",
]
CHANGE = st.tuples(
    st.sampled_from(["put", "put", "remove"]),
    st.integers(0, 7),
    st.sampled_from(["/a/", "/b/"]),
    st.sampled_from(TEXTS),
)


@settings(max_examples=40, deadline=None)
@given(st.lists(CHANGE, min_size=1, max_size=25), st.sampled_from(["red boat", "cats at the lake", "the"]))
def test_after_any_changes_the_scores_are_those_of_the_formula(
    changes: list[tuple[str, int, str, str]], question: str
) -> None:
    with tempfile.TemporaryDirectory() as folder, closing(RecordsStore(Path(folder))) as store:
        index = RecordsIndex(store)
        order: dict[str, list[str]] = {"/a/": [], "/b/": []}
        texts: dict[str, str] = {}
        places: dict[str, str] = {}
        for action, number, namespace, text in changes:
            id = f"r{number}"
            if id in places and (action == "remove" or places[id] != namespace):
                order[places.pop(id)].remove(id)
                texts.pop(id)
            if action == "remove":
                store.remove("m", id)
            else:
                if id not in places:
                    order[namespace].append(id)
                places[id], texts[id] = namespace, text
                store.put("m", record(id, namespace, text), embed([text])[0].tobytes())
            ask(index, question)  # so that every change is taken by itself
        chain = order["/a/"]
        expected_scores = formula(question, [texts[id] for id in chain])
        scores = dict(ask(index, question, k=20))
        assert scores.keys() == set(chain)
        for id, score in zip(chain, expected_scores, strict=True):
            assert scores[id] == pytest.approx(score, abs=1e-4)


def formula(question: str, texts: list[str]) -> list[float]:
    """The scores of a chain of records, written down plainly."""
    documents, query_words = [words_of(text) for text in texts], dict.fromkeys(words_of(question))
    average_length = (sum(map(len, documents)) / len(documents) or 1.0) if documents else 1.0
    lexical, largest = [0.0] * len(documents), 0.0
    for word in query_words:
        document_count = sum(word in document for document in documents)
        rarity = float(np.log(1 + (len(documents) - document_count + 0.5) / (document_count + 0.5)))
        largest += rarity * (SATURATION + 1)
        for place, document in enumerate(documents):
            count = document.count(word)
            norm = SATURATION * (1 - LENGTH_WEIGHT + LENGTH_WEIGHT * len(document) / average_length)
            lexical[place] += rarity * (SATURATION + 1) * count / (count + norm) if count else 0.0
    best = max([*lexical, LEAST_COVERAGE * largest]) or 1.0
    cosines = np.maximum(embed(texts) @ embed([question])[0], 0) if texts else []
    own = [
        WORDS_SHARE * words / best + (1 - WORDS_SHARE) * float(cosine)
        for words, cosine in zip(lexical, cosines, strict=True)
    ]
    around = [0.0, *own, 0.0]
    return [mine + NEIGHBOUR_SHARE * (1 - mine) * (around[place] + around[place + 2]) for place, mine in enumerate(own)]


def test_a_large_memory_finds_what_a_small_one_would(store: RecordsStore) -> None:
    texts = [f"Entry {number}: {SMALL_TALK[number % 6]}" for number in range(6_000)]
    texts[4_321] = "Ben: The Zwiebelturm was closed, so we took the ferry."
    with store.transaction():
        put(store, texts)
    index = RecordsIndex(store)
    assert ask(index, "Was the Zwiebelturm closed?", Scope(None, "/"))[0][0] == "r4321"
    store.remove("m", "r4321")
    assert ask(index, "Was the Zwiebelturm closed?", Scope(None, "/"))[0][0] != "r4321"
