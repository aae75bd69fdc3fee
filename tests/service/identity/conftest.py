"""An authorization server, and resources of outbound identity with names of their own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from authorization_server import TokenIssuer, serving
from identities import Identities


@pytest.fixture
def issuer() -> Iterator[TokenIssuer]:
    with serving() as running:
        yield running


@pytest.fixture
def identities(aws: Any, issuer: TokenIssuer) -> Identities:
    return Identities(aws, issuer)
