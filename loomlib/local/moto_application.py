"""moto's web application, limited to its AWS endpoints. Importing it loads Flask."""

from __future__ import annotations

from typing import Any, Final

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app

from .wire import not_found, not_implemented

_INTERNAL: Final = frozenset({"moto_api", "instance_metadata"})
"""moto's own pages, through which a caller could read and reset everything, and EC2's metadata, which returns keys."""


class AwsApplication(DomainDispatcherApplication):
    """moto's application without its web pages."""

    def __init__(self) -> None:
        super().__init__(create_backend_app)

    def get_backend_for_host(self, host: str | None) -> Any:
        """Return the name of the AWS service that a host name belongs to.

        Raises:
            RefusedError: The path is one of moto's own pages, or moto does not have the service.
        """
        backend = super().get_backend_for_host(host)
        if backend in _INTERNAL:
            raise not_found("The local AgentCore has no such path")
        if host is not None and not backend:
            raise not_implemented(f"the service {host.partition('.')[0]}")
        return backend
