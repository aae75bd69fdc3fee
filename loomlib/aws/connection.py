"""Connections to AWS: region, profile, and environment variables for other endpoints."""

from __future__ import annotations

import os
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from loomlib.errors import MissingCredentialsError

from .addresses import is_loopback
from .bearer import check_bearer, check_may_receive_token
from .errors import translated

if TYPE_CHECKING:
    from botocore.credentials import ReadOnlyCredentials

MEASURED_CONNECTIONS = 128
"""Size of a client's connection pool: botocore discards connections beyond it and repeats the TLS handshake."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """The AWS endpoints and credentials to connect with.

    `environment` has endpoint variables and credentials under AWS's names. It applies to the clients of this connection
    only. Empty means boto3's defaults: credentials chain, profile, region.
    """

    region: str | None = None
    profile: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)


class Clients:
    """boto3 clients of one connection, created once and shared between threads.

    The first client imports boto3. No client retries: a hidden retry would be part of a measured time.
    """

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._lock = threading.RLock()
        self._boto: Any = None
        self._clients: dict[tuple[str, str, float], Any] = {}
        self._account: str | None = None

    @property
    def region(self) -> str:
        """The region of the connection. Raises `MissingCredentialsError` when none is configured."""
        if self.connection.region:
            return self.connection.region
        env = self.connection.environment
        region = env.get("AWS_REGION") or env.get("AWS_DEFAULT_REGION") or self._session().region_name
        if not region:
            raise MissingCredentialsError(
                "No AWS region", try_="connect(region=…), AWS_REGION, or a profile with a region"
            )
        return str(region)

    def control(self, region: str | None = None) -> Any:
        """Return the client of `bedrock-agentcore-control`."""
        return self.client("bedrock-agentcore-control", region)

    def data(self, region: str | None = None) -> Any:
        """Return the client of `bedrock-agentcore`."""
        return self.client("bedrock-agentcore", region)

    @contextmanager
    def data_client(self, region: str | None = None, *, bearer: str | None = None) -> Generator[Any]:
        """Yield the client of `bedrock-agentcore`, or one for this block that sends a token in place of a signature."""
        if bearer is None:
            yield self.data(region)
            return
        from botocore import UNSIGNED
        from botocore.config import Config

        endpoint = self.data_endpoint(region)
        check_bearer(bearer)
        check_may_receive_token(endpoint)
        client = self._session().client(
            "bedrock-agentcore",
            region_name=region or self.region,
            endpoint_url=endpoint,
            config=Config(signature_version=UNSIGNED, retries={"total_max_attempts": 1}, proxies=_proxies(endpoint)),
        )

        def send_token(request: Any, **_: Any) -> None:
            request.headers["Authorization"] = f"Bearer {bearer}"

        client.meta.events.register("before-send.bedrock-agentcore", send_token)
        try:
            yield client
        finally:
            client.close()

    def logs(self, region: str | None = None) -> Any:
        """Return the client of CloudWatch Logs."""
        return self.client("logs", region)

    def s3(self, region: str | None = None) -> Any:
        """Return the client of S3."""
        return self.client("s3", region)

    def client(self, service: str, region: str | None = None, *, read_timeout_s: float = 60) -> Any:
        """Return the client of a service.

        Args:
            service: The service, as boto3 names it.
            region: A region other than the connection's.
            read_timeout_s: Seconds without a byte after which a call fails.
        """
        from botocore.config import Config

        where = region or self.region
        with self._lock:
            key = (service, where, read_timeout_s)
            if key not in self._clients:
                endpoint = self._endpoint(service)
                config = Config(
                    retries={"total_max_attempts": 1, "mode": "standard"},
                    max_pool_connections=MEASURED_CONNECTIONS,
                    read_timeout=read_timeout_s,
                    connect_timeout=10,
                    # A bucket name in the host part does not resolve for an address such as 127.0.0.1.
                    s3={"addressing_style": "path"} if endpoint else None,
                    proxies=_proxies(endpoint),
                )
                with translated("Creating an AWS client", on=service):
                    self._clients[key] = self._session().client(
                        service, region_name=where, endpoint_url=endpoint, config=config
                    )
            return self._clients[key]

    def data_endpoint(self, region: str | None = None) -> str:
        """Return the address of the data plane as boto3 resolves it, `AWS_ENDPOINT_URL_…` included."""
        return str(self.data(region).meta.endpoint_url)

    def credentials(self) -> ReadOnlyCredentials:
        """Return the current credentials, refreshed when they are about to expire (which may use the network)."""
        with translated("Reading AWS credentials", on=self.connection.profile or "default chain"), self._lock:
            credentials = self._session().get_credentials()
            if credentials is None:
                raise MissingCredentialsError(
                    "No AWS credentials", try_="aws sso login, AWS_PROFILE, or loom.connect()"
                )
            return credentials.get_frozen_credentials()

    def account_id(self, *, anew: bool = False) -> str:
        """Return the account of the credentials (GetCallerIdentity), cached unless `anew`."""
        with translated("Reading the account id from STS", on=self.region):
            if anew or self._account is None:
                self._account = str(self.client("sts").get_caller_identity()["Account"])
            return self._account

    def close(self) -> None:
        """Close the open connections; the next client opens its own."""
        with self._lock:
            while self._clients:
                self._clients.popitem()[1].close()

    def ca_bundle(self) -> str | None:
        """Return the configured file of certificate authorities, or None for the system's."""
        configured = self._session()._session.get_config_variable("ca_bundle")  # boto3 has no public API for it
        return str(configured or os.environ.get("REQUESTS_CA_BUNDLE") or "") or None

    def _session(self) -> Any:
        with self._lock, translated("Opening an AWS session", on=self.connection.profile or "default profile"):
            if self._boto is None:
                self._boto = _open_session(self.connection)
            return self._boto

    def _endpoint(self, service: str) -> str | None:
        env = self.connection.environment
        name = _ENDPOINT_NAMES.get(service, service.upper().replace("-", "_"))
        return env.get(f"AWS_ENDPOINT_URL_{name}") or env.get("AWS_ENDPOINT_URL")


def _open_session(connection: Connection) -> Any:
    import boto3
    import botocore.session

    from .model_files import share_files

    env = connection.environment
    if not env.get("AWS_ACCESS_KEY_ID"):
        return boto3.Session(region_name=connection.region, profile_name=connection.profile)
    # The keys are given, so the user's profile is ignored: it may name a role or a region, or may not exist.
    apart = botocore.session.Session(
        session_vars={
            "profile": (None, None, None, None),
            "config_file": (None, None, os.devnull, None),
            "credentials_file": (None, None, os.devnull, None),
        }
    )
    share_files(apart)
    return boto3.Session(
        botocore_session=apart,
        region_name=connection.region,
        aws_access_key_id=env["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=env.get("AWS_SECRET_ACCESS_KEY", ""),
        aws_session_token=env.get("AWS_SESSION_TOKEN"),
    )


_ENDPOINT_NAMES: Mapping[str, str] = {"logs": "CLOUDWATCH_LOGS", "secretsmanager": "SECRETS_MANAGER"}


def _proxies(endpoint: str | None) -> dict[str, str] | None:
    """Return no proxies for loopback, which an external proxy cannot reach, and those of the environment otherwise."""
    return {} if endpoint and is_loopback(endpoint) else None
