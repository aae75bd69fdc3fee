"""`connect()`: the one place that knows whether AgentCore is the local one or AWS's."""

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
    """A workbench on the local AgentCore (started if it is not up) or, with `"aws"`, on AWS.

        bench = loom.connect()
        bench = loom.connect("aws", region="us-east-1", profile="team")

    Locally `home` (else `LOOM_HOME`, else `.loom` here or above) holds everything; notebooks that name the same folder
    share one service, and it ends when the last of them has, unless `loom up` started it. `options` are those of a
    service that has to be started (quotas, log delay, latency profile of the simulated model). On AWS credentials come
    from boto3's chain and are read at the first call. Raises `SettingsError`, `LocalServiceNotStartedError`, `StoreError`.
    """
    if where not in ("local", "aws"):
        raise ValueError(f'where is "local" or "aws", not {where!r}')
    if settings is None:
        settings = Settings.load(
            region=region, profile=profile, home=None if home is None else str(home), database_url=database_url
        )
    if where == "local":
        state, lease = _held(settings.home, options)
        house = LocalEnvironment(state, lease)
        connection = Connection(region=state.region, environment=state.environment())
    else:
        house = AwsEnvironment()
        connection = Connection(region=settings.region, profile=settings.profile)
    try:
        store = Store.open(settings.database_url)
    except BaseException:
        house.leave()
        raise
    return Workbench(where=where, settings=settings, store=store, clients=Clients(connection), house=house)


def _held(home: Path, options: local.ServiceOptions | None) -> tuple[local.ServiceState, local.Lease]:
    """A service that lives as long as the lease; one that is just ending is waited for, and another one started."""
    for _ in range(_TRIES - 1):
        state, _ = local.start(home, options, persistent=False)
        with suppress(LocalServiceNotRunningError):
            return state, local.hold(state)
    state, _ = local.start(home, options, persistent=False)
    return state, local.hold(state)
