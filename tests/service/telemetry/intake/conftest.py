"""The intake of a running local AgentCore."""

from __future__ import annotations

from typing import Any

import pytest
from exporting import Exporter


@pytest.fixture
def exporter(aws: Any) -> Exporter:
    return Exporter(aws)
