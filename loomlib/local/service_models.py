"""botocore's models of AWS services, loaded without a search for all other services.

botocore looks through the folders of all its four hundred services before it loads one, which is a tenth of the
processor time that the local AgentCore needs to start.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any, Final

from botocore.exceptions import DataNotFoundError
from botocore.loaders import ExtrasProcessor, Loader
from moto.core.model import ServiceModel

_NAME: Final = re.compile(r"[a-z0-9-]+")  # a name comes from a caller and becomes part of a path


@cache
def service_model(service: str) -> ServiceModel:
    """Return boto3's model of a service, without moto's additions, and cache it.

    Args:
        service: The service, as botocore names it, such as `bedrock-agentcore-control`.

    Raises:
        DataNotFoundError: botocore has no such service.
    """
    return ServiceModel(_description(service), service)


@lru_cache(maxsize=1_000)
def signing_name(service: str) -> str | None:
    """Return the signing name of a service; None if botocore does not have the service.

    Args:
        service: The service, as botocore names it.
    """
    try:
        metadata: Mapping[str, str] = _description(service)["metadata"]
    except DataNotFoundError:
        return None
    return metadata.get("signingName", metadata["endpointPrefix"])


def _description(service: str) -> dict[str, Any]:
    """Load the latest API version with botocore's additions, as `Loader.load_service_model` does."""
    if _NAME.fullmatch(service) is None:
        raise DataNotFoundError(data_path=service)
    loader = Loader()
    path = f"{service}/{loader.determine_latest_version(service, 'service-2')}/service-2"
    description: dict[str, Any] = loader.load_data(path)
    try:
        extras = [loader.load_data(f"{path}.sdk-extras")]
    except DataNotFoundError:
        return description
    ExtrasProcessor().process(description, extras)
    return description
