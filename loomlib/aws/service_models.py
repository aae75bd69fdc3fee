"""The operations of a service in AWS's service models, read from botocore's files without a client."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceOperations:
    """The operations of a service.

    Attributes:
        signing_name: The service name in signatures, usually IAM's name of the service.
        methods: The operation of each method of boto3's client, such as `get_object` of GetObject.
        waiters: The operation of each waiter, such as `object_exists` of HeadObject.
        parameters: The names of each operation's parameters.
    """

    signing_name: str
    methods: Mapping[str, str]
    waiters: Mapping[str, str]
    parameters: Mapping[str, tuple[str, ...]]


@lru_cache(maxsize=128)
def service_operations(service: str) -> ServiceOperations | None:
    """Return the operations of a service; None if boto3 does not know the service.

    Args:
        service: The service, as boto3 names it, such as `bedrock-runtime`.
    """
    from botocore import xform_name
    from botocore.exceptions import UnknownServiceError
    from botocore.loaders import Loader

    loader = Loader()
    try:
        model: dict[str, Any] = loader.load_service_model(service, "service-2")
    except UnknownServiceError:
        return None
    waiters: dict[str, Any] = {}
    if service in loader.list_available_services("waiters-2"):
        waiters = loader.load_service_model(service, "waiters-2")["waiters"]
    metadata: dict[str, str] = model["metadata"]
    return ServiceOperations(
        signing_name=metadata.get("signingName") or metadata["endpointPrefix"],
        methods={xform_name(name): name for name in model["operations"]},
        parameters={
            name: tuple(model["shapes"][operation["input"]["shape"]].get("members", ()))
            for name, operation in model["operations"].items()
            if "input" in operation
        },
        waiters={xform_name(name): str(waiter["operation"]) for name, waiter in waiters.items()},
    )
