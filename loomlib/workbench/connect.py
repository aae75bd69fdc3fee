"""`connect()`: the only place that distinguishes the local AgentCore from AWS."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Final

from .. import local
from ..aws import Clients, Connection
from ..errors import LocalServiceNotRunningError
from ..settings import Settings
from ..store import Store
from .bench import Workbench
from .context import Context
from .environment import AwsEnvironment, LocalEnvironment

_TRIES: Final = 5


def connect(
    where: str = "local",
    *,
    region: str | None = None,
    profile: str | None = None,
    home: str | Path | None = None,
    database_url: str | None = None,
    options: local.ServiceOptions | None = None,
    settings: Settings | None = None,
) -> Workbench:
    """Open a workbench on the local AgentCore, which is started if it is not up, or on AWS.

        bench = loom.connect()
        bench = loom.connect("aws", region="us-east-1", profile="team")

    Notebooks that use the same home folder share one local service. It ends with the last of them, unless `loom up`
    started it. On AWS, credentials come from boto3's chain and are read at the first request.

    Args:
        where: "local" or "aws".
        region: The AWS region; `AWS_REGION` or the profile's by default.
        profile: The AWS profile.
        home: The home folder; `LOOM_HOME`, else `.loom` in this folder or a parent folder, by default.
        database_url: The database; `loom.db` in the home folder by default.
        options: Options for the local service if it must be started: quotas, log delay, latency profile of its model.
        settings: All settings; region, profile, home and database_url are then ignored.

    Raises:
        SettingsError: A setting cannot be read.
        LocalServiceNotStartedError: The local service did not start.
        StoreError: The database cannot be opened.
    """
    if where not in ("local", "aws"):
        raise ValueError(f'where must be "local" or "aws", not {where!r}')
    if settings is None:
        settings = Settings.load(
            region=region, profile=profile, home=None if home is None else str(home), database_url=database_url
        )
    if where == "local":
        state, lease = _held_service(settings.home, options)
        environment = LocalEnvironment(state, lease)
        connection = Connection(region=state.region, environment=state.environment())
    else:
        environment = AwsEnvironment()
        connection = Connection(region=settings.region, profile=settings.profile)
    try:
        store = Store.open(settings.database_url, tenant=settings.tenant, user=settings.user)
    except BaseException:
        environment.leave()
        raise
    clients = Clients(connection)
    return Workbench(Context(where=where, settings=settings, store=store, clients=clients, environment=environment))


def _held_service(home: Path, options: local.ServiceOptions | None) -> tuple[local.ServiceState, local.Lease]:
    """Start or find a service and hold a lease on it; if the service is just ending, start another."""
    for _ in range(_TRIES - 1):
        state, _ = local.start(home, options, persistent=False)
        with suppress(LocalServiceNotRunningError):
            return state, local.hold(state)
    state, _ = local.start(home, options, persistent=False)
    return state, local.hold(state)
