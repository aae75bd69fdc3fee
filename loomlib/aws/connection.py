"""Where AWS is: a region, a profile, and (for any other address) the environment that says so."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from loomlib.errors import MissingCredentialsError

from .addresses import is_loopback

if TYPE_CHECKING:
    from botocore.credentials import ReadOnlyCredentials

MEASURED_CONNECTIONS = 128
"""Pooled connections a client keeps: beyond its pool botocore throws connections away and pays TLS again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """Which AWS to talk to. `environment` holds endpoint variables and credentials in AWS's own names.

    It is applied to the clients of this connection only; the process's environment stays as it is. Empty means AWS as
    boto3 finds it: the credentials chain, the profile, the region.
    """

    region: str | None = None
    profile: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)


class Clients:
    """boto3 clients of one connection, each made once and shared; safe to use from several threads.

    Nothing is imported or contacted before the first client is asked for. No client retries: a hidden retry would be
    inside a measured time.
    """

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._lock = threading.RLock()
        self._boto: Any = None
        self._clients: dict[tuple[str, str], Any] = {}
        self._account: str | None = None

    @property
    def region(self) -> str:
        """The connection's region; raises `MissingCredentialsError` when nobody named one."""
        if self.connection.region:
            return self.connection.region
        env = self.connection.environment
        found = env.get("AWS_REGION") or env.get("AWS_DEFAULT_REGION") or self._session().region_name
        if not found:
            raise MissingCredentialsError(
                "No AWS region", try_="connect(region=…), AWS_REGION, or a profile with a region"
            )
        return str(found)

    def control(self, region: str | None = None) -> Any:
        """The client of `bedrock-agentcore-control`."""
        return self.client("bedrock-agentcore-control", region)

    def data(self, region: str | None = None) -> Any:
        """The client of `bedrock-agentcore`."""
        return self.client("bedrock-agentcore", region)

    def logs(self, region: str | None = None) -> Any:
        """The client of CloudWatch Logs."""
        return self.client("logs", region)

    def s3(self, region: str | None = None) -> Any:
        """The client of S3."""
        return self.client("s3", region)

    def client(self, service: str, region: str | None = None) -> Any:
        """A client of any service, in the connection's region unless another is named."""
        from botocore.config import Config

        from .errors import translated

        where = region or self.region
        with self._lock:
            if (service, where) not in self._clients:
                endpoint = self._endpoint(service)
                config = Config(
                    retries={"total_max_attempts": 1, "mode": "standard"},
                    max_pool_connections=MEASURED_CONNECTIONS,
                    read_timeout=60,
                    connect_timeout=10,
                    # A bucket name in the host part would leave an address such as 127.0.0.1 without an answer.
                    s3={"addressing_style": "path"} if endpoint else None,
                    # A proxy for the world has no way to this machine's own loopback.
                    proxies={} if endpoint and is_loopback(endpoint) else None,
                )
                with translated("Making an AWS client", on=service):
                    self._clients[service, where] = self._session().client(
                        service, region_name=where, endpoint_url=endpoint, config=config
                    )
            return self._clients[service, where]

    def data_endpoint(self, region: str | None = None) -> str:
        """The address of the data plane, as boto3 itself resolves it (so `AWS_ENDPOINT_URL_…` counts)."""
        return str(self.data(region).meta.endpoint_url)

    def credentials(self) -> ReadOnlyCredentials:
        """The credentials of this moment, refreshed when they are about to expire (which may use the network)."""
        from .errors import translated

        with translated("Reading AWS credentials", on=self.connection.profile or "default chain"), self._lock:
            found = self._session().get_credentials()
            if found is None:
                raise MissingCredentialsError(
                    "No AWS credentials", try_="aws sso login, AWS_PROFILE, or loom.connect()"
                )
            return found.get_frozen_credentials()

    def account_id(self, *, anew: bool = False) -> str:
        """The account that the credentials belong to, asked of STS once; `anew` asks whether they still do."""
        from .errors import translated

        with translated("Asking STS who we are", on=self.region):
            if anew or self._account is None:
                self._account = str(self.client("sts").get_caller_identity()["Account"])
            return self._account

    def close(self) -> None:
        """Close the connections that are kept open; the next client that is asked for opens its own."""
        with self._lock:
            while self._clients:
                self._clients.popitem()[1].close()

    def ca_bundle(self) -> str | None:
        """The file of certificate authorities that was configured for AWS, None for the system's."""
        configured = self._session()._session.get_config_variable("ca_bundle")  # boto3 has no public way to it
        return str(configured or os.environ.get("REQUESTS_CA_BUNDLE") or "") or None

    def _session(self) -> Any:
        from .errors import translated

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

    env = connection.environment
    if not env.get("AWS_ACCESS_KEY_ID"):
        return boto3.Session(region_name=connection.region, profile_name=connection.profile)
    # The keys are given, so the user's own profile has no say: it may name a role, a region, or nothing that exists.
    apart = botocore.session.Session(
        session_vars={
            "profile": (None, None, None, None),
            "config_file": (None, None, os.devnull, None),
            "credentials_file": (None, None, os.devnull, None),
        }
    )
    return boto3.Session(
        botocore_session=apart,
        region_name=connection.region,
        aws_access_key_id=env["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=env.get("AWS_SECRET_ACCESS_KEY", ""),
        aws_session_token=env.get("AWS_SESSION_TOKEN"),
    )


_ENDPOINT_NAMES: Mapping[str, str] = {"logs": "CLOUDWATCH_LOGS", "secretsmanager": "SECRETS_MANAGER"}
