"""The trace that a call belongs to is known before it is sent."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from loomlib.agents.trace_context import trace_id_in, with_trace


def test_a_call_without_a_trace_gets_a_new_sampled_one() -> None:
    one, other = with_trace({}), with_trace({"x": "y"})
    assert re.fullmatch(r"00-[0-9a-f]{32}-[0-9a-f]{16}-01", one["traceparent"])
    assert trace_id_in(one) == one["traceparent"].split("-")[1]
    assert trace_id_in(one) != trace_id_in(other)
    assert other["x"] == "y"


def test_a_callers_own_trace_is_kept() -> None:
    own = {"TraceParent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"}
    assert with_trace(own) == own
    assert trace_id_in(own) == "0af7651916cd43dd8448eb211c80319c"


def test_x_rays_header_names_the_same_trace_in_its_own_way() -> None:
    own = {"X-Amzn-Trace-Id": "Self=1-2-3;Root=1-69b2f379-63a139ff1d6114ea6b800056;Sampled=1"}
    assert with_trace(own) == own
    assert trace_id_in(own) == "69b2f37963a139ff1d6114ea6b800056"


@given(st.dictionaries(st.sampled_from(["traceparent", "x-amzn-trace-id", "baggage"]), st.text(max_size=80)))
def test_whatever_a_header_holds_is_a_trace_id_or_none(headers: dict[str, str]) -> None:
    trace_id = trace_id_in(headers)
    assert trace_id is None or re.fullmatch(r"[0-9a-f]{32}", trace_id)
