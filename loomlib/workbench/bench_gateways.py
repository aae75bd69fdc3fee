"""The gateways of an account: list, create and delete them; `bench.gateways`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..aws import gateways
from ..aws.authorizers import JwtAuthorizer
from ..aws.bearer import Bearer
from .account_resources import AccountResources
from .context import Context
from .frames import gateway_frame
from .gateway_view import GatewayView


class BenchGateways(AccountResources[gateways.Gateway, GatewayView]):
    """The gateways that a workbench can reach; `bench.gateways`.

    Args:
        context: The workbench's resources.
    """

    def __init__(self, context: Context) -> None:
        super().__init__(
            context,
            list_all=gateways.list_gateways,
            find=gateways.find_gateway,
            delete=gateways.delete_gateway,
            frame=gateway_frame,
            view=GatewayView,
        )

    def get(self, key: str, *, region: str | None = None, bearer: Bearer | None = None) -> GatewayView:
        """Return a gateway.

        Args:
            key: Its name, id or ARN.
            region: The AWS region; the connection's by default.
            bearer: A token for a gateway with a JWT authorizer, or a function that returns it.

        Raises:
            ResourceNotFoundError: It does not exist.
        """
        return GatewayView(self._context, gateways.find_gateway(self._context.clients, key, region=region), bearer)

    def create(
        self,
        name: str,
        *,
        authorizer: JwtAuthorizer | str = "AWS_IAM",
        search: bool = False,
        http: bool = False,
        role_arn: str | None = None,
        region: str | None = None,
    ) -> GatewayView:
        """Create a gateway.

            gateway = bench.gateways.create("tools", search=True)
            gateway.add_mcp("sums", "http://127.0.0.1:8000/mcp")
            gateway.call("sums___add", a=1, b=2).value

        Args:
            name: Its name: letters, digits and hyphens.
            authorizer: "AWS_IAM" accepts signed calls, "NONE" any call, a `loom.JwtAuthorizer` calls with its tokens.
            search: Whether it offers a tool for semantic search of its tools.
            http: Whether it can have HTTP targets; in this case it has no protocol type.
            role_arn: The role with which it calls its targets; on AWS it must exist.
            region: The AWS region; the connection's by default.

        Raises:
            ConflictError: The name is taken.
        """
        if isinstance(authorizer, JwtAuthorizer):
            options: Mapping[str, Any] = {"authorizerConfiguration": authorizer.configuration()}
            kind = "CUSTOM_JWT"
        else:
            options, kind = {}, authorizer
        gateway = gateways.create_gateway(
            self._context.clients,
            name,
            authorizer=kind,
            role_arn=role_arn,
            searches=search,
            protocol=None if http else "MCP",
            options=options,
            region=region,
        )
        return GatewayView(self._context, gateway)
