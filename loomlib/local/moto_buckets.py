"""moto's S3, with members added to its responses that AWS returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, cast


@cache
def correct_buckets() -> None:
    """Patch moto, once per process, so that GetBucketNotificationConfiguration returns EventBridgeConfiguration."""
    from moto.core.responses import ActionResult
    from moto.s3 import responses

    response: Any = responses.S3Response
    read: Callable[[Any], Any] = response.get_bucket_notification

    def get_bucket_notification(self: Any) -> Any:
        configuration: Any = self.backend.get_bucket_notification_configuration(self.bucket_name)
        if configuration is None or configuration.event_bridge is None:
            return read(self)
        serialized: Callable[[Any], Any] = self.serialized

        def with_event_bridge(result: Any) -> Any:
            members = cast("Mapping[str, Any]", result.result)
            return serialized(ActionResult({**members, "EventBridgeConfiguration": {}}))

        self.serialized = with_event_bridge
        return read(self)

    response.get_bucket_notification = get_bucket_notification
