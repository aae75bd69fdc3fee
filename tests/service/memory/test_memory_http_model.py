"""The same rules over HTTP: what plain boto3 is answered by a running service is what the model says."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError
from hypothesis import HealthCheck, settings
from hypothesis.stateful import initialize
from memory_clients import client
from test_memory_model import EXPIRY_DAYS, Memory

from loomlib import local
from loomlib.local.wire import RefusedError


class OverHttp(Memory):
    """The model beside a service that runs on: time is its own, so nothing expires, and nothing is restarted."""

    service: local.ServiceState
    control: Any
    data: Any

    def open(self) -> None:
        """Nothing: the service runs already."""

    def teardown(self) -> None:
        self.runner.close()
        self.home.rmdir()

    def call(self, operation: str, **parameters: Any) -> dict[str, Any]:
        try:
            return getattr(self.data, operation)(**parameters)
        except ClientError as error:
            response = error.response
            status = response["ResponseMetadata"]["HTTPStatusCode"]
            raise RefusedError(
                response["Error"]["Code"], status, response["Error"]["Message"], reason=response.get("reason")
            ) from error

    @initialize()
    def begin(self) -> None:
        parameters = {"name": "m" + uuid.uuid4().hex, "eventExpiryDuration": EXPIRY_DAYS}
        self.memory_id = self.control.create_memory(**parameters)["memory"]["id"]

    time_passes = sweep = restart = None  # type: ignore[assignment]

    def journal(self) -> list[str]:
        event_ids = [
            event["eventId"]
            for place in self.sessions
            for page in self.data.get_paginator("list_events").paginate(**self.at(place))
            for event in page["events"]
        ]
        return sorted(event_ids, key=lambda event_id: int(event_id.partition("#")[2], 16))


@pytest.fixture(scope="module", autouse=True)
def served(prompt_service: local.ServiceState) -> Iterator[None]:
    names = ("bedrock-agentcore-control", "bedrock-agentcore")
    OverHttp.control, OverHttp.data = (client(prompt_service, name) for name in names)
    yield
    OverHttp.control.close()
    OverHttp.data.close()


TestOverHttp = OverHttp.TestCase
TestOverHttp.settings = settings(
    max_examples=12, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
)
