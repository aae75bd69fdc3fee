"""Runtime ARNs: what is read back is what was written, and what is none is refused with its fault."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loomlib.agents import RuntimeArn
from loomlib.errors import InvalidArnError, LoomError

arns = st.builds(
    lambda partition, region, account, name, suffix: (
        f"arn:{partition}:bedrock-agentcore:{region}:{account}:runtime/{name}-{suffix}"
    ),
    st.sampled_from(["aws", "aws-cn", "aws-us-gov", "aws-iso", "aws-iso-b", "aws-eusc"]),
    st.from_regex(r"[a-z]{2}(-[a-z]{3,4})?-[a-z]{4,9}-[1-9]", fullmatch=True),
    st.from_regex(r"[0-9]{12}", fullmatch=True),
    st.from_regex(r"[a-zA-Z][a-zA-Z0-9_]{0,47}", fullmatch=True),
    st.from_regex(r"[a-zA-Z0-9]{10}", fullmatch=True),
)


@given(arns)
def test_every_arn_reads_back_as_it_was_written(text: str) -> None:
    arn = RuntimeArn.parse(text)
    assert str(arn) == text
    assert RuntimeArn.parse(f"  {text}\n") == arn
    _, partition, _, region, account, resource = text.split(":")
    assert (arn.partition, arn.region, arn.account_id) == (partition, region, account)
    assert f"runtime/{arn.runtime_id}" == resource
    assert arn.runtime_id.startswith(f"{arn.name}-")
    assert arn.log_group("prod") == f"/aws/bedrock-agentcore/runtimes/{arn.runtime_id}-prod"


@given(
    st.one_of(st.text(), arns.map(lambda text: text + "\n:"), arns.flatmap(lambda t: st.just(t.replace(":", "", 1))))
)
def test_other_text_is_refused_as_a_value_error_of_looms(text: str) -> None:
    with pytest.raises(InvalidArnError) as caught:
        RuntimeArn.parse(text)
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, LoomError)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("calculator", "six parts"),
        ("arn:gcp:bedrock-agentcore:us-east-1:123456789012:runtime/a-b", "not an AWS partition"),
        ("arn:aws:lambda:us-east-1:123456789012:function:x", "service 'lambda'"),
        ("arn:aws:bedrock-agentcore:US:123456789012:runtime/a-b", "not a region"),
        ("arn:aws:bedrock-agentcore:us-east-1:1234:runtime/a-b", "not an account id"),
        ("arn:aws:bedrock-agentcore:us-east-1:123456789012:memory/a-b", "'memory' is not a runtime"),
        ("arn:aws:bedrock-agentcore:us-east-1:123456789012:runtime/abc", "not a runtime id"),
        ("arn:aws:bedrock-agentcore:us-east-1:123456789012:runtime/a-b/runtime-endpoint/x", "as qualifier"),
    ],
)
def test_a_refusal_names_the_part_that_is_wrong(text: str, fault: str) -> None:
    with pytest.raises(InvalidArnError, match=fault):
        RuntimeArn.parse(text)


def test_the_specifications_own_examples_are_read() -> None:
    arn = RuntimeArn.parse("arn:aws:bedrock-agentcore:us-east-1:123456789012:runtime/ea_banappeal-dE2x2P736K")
    assert (arn.name, arn.runtime_id) == ("ea_banappeal", "ea_banappeal-dE2x2P736K")
    assert RuntimeArn.parse("arn:aws:bedrock-agentcore:us-east-1:123456789012:runtime/myagent-abc123").name == "myagent"


def test_impossible_parts_cannot_be_put_together() -> None:
    with pytest.raises(InvalidArnError):
        RuntimeArn(partition="aws", region="us-east-1", account_id="1", runtime_id="a-b")
