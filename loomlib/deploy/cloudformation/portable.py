"""Replacement of one account and region in ARNs and names by those in which a stack is created."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from ..policies import AwsPlace


def portable(value: Any, place: AwsPlace) -> Any:
    """Return a value of a template with the account, region and partition of its ARNs replaced.

    ARNs of other accounts and regions stay as they are.

    Args:
        value: A string, or lists and mappings of strings.
        place: The account and region for which the texts were created.
    """
    if isinstance(value, str):
        return _text(value, place)
    if isinstance(value, Mapping):
        items = cast("Mapping[str, Any]", value)
        return {name: portable(item, place) for name, item in items.items()}
    if isinstance(value, Sequence):
        return [portable(item, place) for item in cast("Sequence[Any]", value)]
    return value


def substituted(text: str) -> str:
    """Return a text escaped for `Fn::Sub`."""
    return text.replace("${", "${!")


def _text(text: str, place: AwsPlace) -> Any:
    parts = text.split(":", 5)
    if text == place.account:
        return {"Ref": "AWS::AccountId"}
    if len(parts) != 6 or parts[0] != "arn" or parts[1] != place.partition:
        return text
    region, account = parts[3], parts[4]
    if region not in ("", "*", place.region) or account not in ("", "aws", place.account):
        return text
    names = [
        "arn",
        "${AWS::Partition}",
        parts[2],
        "${AWS::Region}" if region == place.region else region,
        "${AWS::AccountId}" if account == place.account else account,
        substituted(parts[5]),
    ]
    return {"Fn::Sub": ":".join(names)}
