"""Conditions of resource policies: the operators and keys that are supported on this machine.

Source: AWS, "IAM JSON policy elements: Condition operators". If a request lacks a key, an operator is false and a
negated operator is true, unless it ends with `IfExists`.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from .policies import matches_any, texts

_IF_EXISTS: Final = "IfExists"
_EQUAL: Final = frozenset({"StringEquals", "StringEqualsIgnoreCase", "Bool"})
_LIKE: Final = frozenset({"StringLike", "ArnEquals", "ArnLike"})
_OPERATORS: Final = _EQUAL | _LIKE | {"IpAddress", "Null"}
_NEGATED: Final = {
    "StringNotEquals": "StringEquals",
    "StringNotEqualsIgnoreCase": "StringEqualsIgnoreCase",
    "StringNotLike": "StringLike",
    "ArnNotEquals": "ArnEquals",
    "ArnNotLike": "ArnLike",
    "NotIpAddress": "IpAddress",
}
_IGNORE_CASE: Final = frozenset({"StringEqualsIgnoreCase", "Bool"})


def unknown_operators(condition: Mapping[str, Any]) -> list[str]:
    """Return the operators of a condition that are not evaluated here."""
    return [name for name in condition if _plain(name)[0] not in _OPERATORS]


def holds(condition: Mapping[str, Any], context: Mapping[str, str]) -> bool:
    """Return whether a request meets a condition.

    Args:
        condition: Operators with their keys and values; all must be true.
        context: The request's condition keys by lower-case names.
    """
    return all(
        _holds(operator, context.get(key.lower()), texts(value))
        for operator, pairs in condition.items()
        for key, value in cast("Mapping[str, Any]", pairs).items()
    )


def _holds(operator: str, value: str | None, expected: Sequence[str]) -> bool:
    plain, is_negated, if_exists = _plain(operator)
    if plain == "Null":
        return (value is None) == (expected == ["true"])
    if value is None:
        return if_exists or is_negated
    if plain == "IpAddress":
        return any(_contains(network, value) for network in expected) != is_negated
    if plain in _LIKE:
        return matches_any(expected, value) != is_negated
    if plain in _IGNORE_CASE:
        return (value.lower() in {text.lower() for text in expected}) != is_negated
    return (value in expected) != is_negated


def _plain(operator: str) -> tuple[str, bool, bool]:
    """Return an operator without negation and suffix, and whether it had them."""
    name = operator.removesuffix(_IF_EXISTS)
    return _NEGATED.get(name, name), name in _NEGATED, operator.endswith(_IF_EXISTS)


def _contains(network: str, address: str) -> bool:
    try:
        return ipaddress.ip_address(address) in ipaddress.ip_network(network, strict=False)
    except ValueError:
        return False
