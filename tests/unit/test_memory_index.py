"""The index of records finds what comparing with every record finds, whoever changed the records."""

from __future__ import annotations

import tempfile
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from loomlib.local.memory.records.index import DIMENSIONS, RecordsIndex
from loomlib.local.memory.records.store import LongTermRecord, RecordsStore, Scope, now_ms

NAMESPACES = ("/a", "/a/", "/a/b", "/ab", "/c", "")
_RANDOM = np.random.default_rng(7).standard_normal((64, DIMENSIONS)).astype(np.float32)
VECTORS = _RANDOM / np.linalg.norm(_RANDOM, axis=1, keepdims=True)
CHANGES = st.tuples(
    st.sampled_from(["put", "put", "put", "remove", "expire"]),
    st.integers(0, 11),
    st.sampled_from(NAMESPACES),
    st.sampled_from(["s1", "s2"]),
    st.integers(0, 63),
)
SCOPES = st.one_of(
    st.sampled_from(NAMESPACES).map(lambda namespace: Scope(namespace)),
    st.sampled_from(["/", "/a", "/a/", "/c", "/x"]).map(lambda path: Scope(None, path)),
)
QUESTIONS = st.tuples(SCOPES, st.sampled_from([None, "s1", "s2", "s3"]), st.integers(0, 63), st.integers(1, 12))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.one_of(CHANGES, QUESTIONS), max_size=40))
def test_the_nearest_are_those_of_a_plain_scan_after_any_changes(steps: list[tuple[object, ...]]) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(RecordsStore(Path(folder))) as reader,
        closing(RecordsStore(Path(folder))) as writer,  # as the extracting process has it
    ):
        index = RecordsIndex(reader)
        live_records: dict[str, tuple[str, str, int]] = {}
        stored: set[str] = set()
        for step in steps:
            if len(step) == 5:
                action, number, namespace, strategy, vector = step
                record_id = f"mem-{number:036d}"
                record = LongTermRecord(
                    record_id=record_id,
                    namespace=str(namespace),
                    strategy_id=str(strategy),
                    text="text",
                    created_at=1,
                    updated_at=1,
                )
                live_records.pop(record_id, None)
                if action == "remove":
                    assert writer.remove("m", record_id) == (record_id in stored)
                    stored.discard(record_id)
                else:
                    stored.add(record_id)
                    if action == "expire":
                        record = replace(record, expires_at=now_ms() - 1)
                    else:
                        live_records[record_id] = (str(namespace), str(strategy), int(str(vector)))
                    writer.put("m", record, VECTORS[int(str(vector))].tobytes())
                continue
            scope, strategy, vector, k = step
            assert isinstance(scope, Scope)
            question = VECTORS[int(str(vector))]
            expected = sorted(
                (-round(float(VECTORS[at] @ question), 5), record_id)
                for record_id, (namespace, of, at) in live_records.items()
                if scope.holds(namespace) and strategy in (None, of)
            )[: int(str(k))]
            matches = index.nearest("m", question, scope, strategy_id=strategy and str(strategy), k=int(str(k)))
            assert [-round(score, 5) for _, score in matches] == [score for score, _ in expected]
            assert [record_id for record_id, _ in matches] == [record_id for _, record_id in expected]
