"""Keys of log groups, whose names are unique only within one region of one account.

Lines and telemetry of all places are stored together. A group of the service's own place is stored under its name, as
in homes of earlier releases; one of another place under `account:region:name`, which cannot be the name of a group.
"""

from __future__ import annotations

from .contract import RuntimeVersion
from .resources import Place, place_of


def group_key(place: Place, name: str) -> str:
    """Return the key of a group in any place; the caller still has to leave out the service's own place.

    Args:
        place: The group's region and account; empty for the service's own.
        name: Its name.
    """
    return f"{place.account_id}:{place.region}:{name}" if place.region else name


def runtime_group(runtime: RuntimeVersion, name: str) -> str:
    """Return the key of a group in the place of a runtime."""
    return group_key(place_of(runtime.arn), name)


class GroupKeys:
    """The keys as they are stored.

    Args:
        own_place: The service's own place.
    """

    def __init__(self, own_place: Place) -> None:
        self.own_place = own_place
        self._prefix = group_key(own_place, "")

    def stored(self, key: str) -> str:
        """Return a key without the service's own place."""
        return key.removeprefix(self._prefix)

    def of(self, place: Place, name: str) -> str:
        """Return the stored key of a group."""
        return name if place == self.own_place else group_key(place, name)

    def split(self, key: str) -> tuple[Place, str]:
        """Return the place and the name of a stored key."""
        place, _, name = key.rpartition(":")
        account_id, _, region = place.partition(":")
        return (Place(region, account_id) if place else self.own_place), name
