"""The resources of one kind in an account: list them, and get and delete one by its name, id or ARN."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from .context import Context

if TYPE_CHECKING:
    import pandas as pd

Value = TypeVar("Value")
View = TypeVar("View")


class AccountResources(Generic[Value, View]):
    """The resources of one kind that a workbench can reach.

    Args:
        context: The workbench's resources.
        list_all: Returns all of them, called with the connection and `region=`.
        find: Returns one, called with the connection, its name, id or ARN, and `region=`.
        delete: Deletes one, called with the connection and the resource.
        frame: Returns resources as a table.
        view: Wraps a resource for notebooks; called with the context and the resource.
    """

    def __init__(
        self,
        context: Context,
        *,
        list_all: Callable[..., Iterable[Value]],
        find: Callable[..., Value],
        delete: Callable[[Any, Value], None],
        frame: Callable[[Iterable[Value]], pd.DataFrame],
        view: Callable[[Context, Value], View],
    ) -> None:
        self._context = context
        self._list, self._find, self._delete, self._frame, self._view = list_all, find, delete, frame, view

    def table(self, *, region: str | None = None) -> pd.DataFrame:
        """Return the account's resources in a region, one row each.

        Args:
            region: The AWS region; the connection's by default.
        """
        return self._frame(self._list(self._context.clients, region=region))

    def get(self, key: str, *, region: str | None = None) -> View:
        """Return one resource.

        Args:
            key: Its name, id or ARN.
            region: The AWS region; the connection's by default.

        Raises:
            ResourceNotFoundError: It does not exist.
        """
        return self._view(self._context, self._find(self._context.clients, key, region=region))

    def delete(self, key: str, *, region: str | None = None) -> None:
        """Delete one resource with everything in it; files in S3 are kept.

        Args:
            key: Its name, id or ARN.
            region: The AWS region; the connection's by default.

        Raises:
            ResourceNotFoundError: It does not exist.
        """
        self._delete(self._context.clients, self._find(self._context.clients, key, region=region))
