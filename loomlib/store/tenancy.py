"""The tenant of a store, and the limit of every compiled statement to that tenant's rows.

The limit is added where SQLAlchemy turns a statement into SQL, once for the whole store: a query cannot forget it.
PostgreSQL enforces the same limit itself for each tenant's database role (`row_security`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, cast

from sqlalchemy import Alias, Connection, Engine, Join, Table, and_, bindparam
from sqlalchemy.exc import CompileError
from sqlalchemy.sql.elements import ColumnElement
from sqlalchemy.sql.selectable import FromGrouping

from ..errors import SettingsError

DEFAULT_TENANT: Final = "default"
"""The tenant of a store that does not name one, and of the rows of earlier releases."""
TENANT_COLUMN: Final = "tenant"
USER_COLUMN: Final = "user_id"

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,47}")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreIdentity:
    """The tenant that a store belongs to, and the user whose rows it writes.

    Attributes:
        tenant: The tenant: up to 48 lower-case letters, digits, hyphens and underscores.
        user: The user within the tenant; empty if unknown. It attributes rows and protects nothing.
    """

    tenant: str = DEFAULT_TENANT
    user: str = ""

    def __post_init__(self) -> None:
        check_tenant(self.tenant)


def check_tenant(name: str) -> str:
    """Return a tenant's name.

    Raises:
        SettingsError: It has invalid characters, or too many.
    """
    if _NAME.fullmatch(name) is None:
        raise SettingsError(
            "A tenant's name must have 1 to 48 lower-case letters, digits, - and _, and begin with a letter or digit",
            on=repr(name[:80]),
            try_="a name such as team-a",
        )
    return name


def limit_to(engine: Engine, identity: StoreIdentity) -> None:
    """Make an engine compile every statement for one tenant.

    SELECT, UPDATE and DELETE get a condition on each table with a tenant, joined and nested ones too; INSERT gets the
    tenant and the user as values, whatever the caller passed. Raw SQL is not changed.

    Args:
        engine: The engine, whose dialect no other engine uses.
        identity: The tenant and the user.
    """
    engine.dialect.statement_compiler = _limited(cast("type[Any]", engine.dialect.statement_compiler), identity)
    engine.clear_compiled_cache()


@lru_cache
def _limited(compiler: type[Any], identity: StoreIdentity) -> Any:
    """Return a statement compiler that limits every statement to one tenant."""
    return type(f"Tenant{compiler.__name__}", (_TenantStatements, compiler), {"identity": identity})


def identity_of(connection: Connection) -> StoreIdentity | None:
    """Return the tenant and the user that a connection is limited to; None for a connection that is not limited."""
    return getattr(connection.dialect.statement_compiler, "identity", None)


def own_columns(table: Table) -> list[Any]:
    """Return a table's columns without those of the tenant and the user."""
    return [column for column in table.c if column.key not in (TENANT_COLUMN, USER_COLUMN)]


class _TenantStatements:
    """Overrides of SQLAlchemy's `SQLCompiler`; the conditions' values are constants of the compiled statement."""

    identity: StoreIdentity

    def visit_select(self, select_stmt: Any, *arguments: Any, **options: Any) -> str:
        conditions = [
            condition
            for source in select_stmt.get_final_froms()
            for condition in self._conditions(_first_table(source))
        ]
        return cast("Any", super()).visit_select(select_stmt.where(*conditions), *arguments, **options)

    def visit_join(self, join: Join, *arguments: Any, **options: Any) -> str:
        if join.full:
            raise CompileError("a full outer join cannot be limited to a tenant")
        # In ON and not in WHERE, which would drop the rows of an outer join that have no counterpart.
        conditions = self._conditions(_first_table(join.right))
        assert join.onclause is not None
        limited = Join(join.left, join.right, and_(join.onclause, *conditions), isouter=join.isouter)
        return cast("Any", super()).visit_join(limited, *arguments, **options)

    def visit_update(self, update_stmt: Any, *arguments: Any, **options: Any) -> str:
        limited = update_stmt.where(*self._conditions(update_stmt.table))
        return cast("Any", super()).visit_update(limited, *arguments, **options)

    def visit_delete(self, delete_stmt: Any, *arguments: Any, **options: Any) -> str:
        limited = delete_stmt.where(*self._conditions(delete_stmt.table))
        return cast("Any", super()).visit_delete(limited, *arguments, **options)

    def visit_insert(self, insert_stmt: Any, *arguments: Any, **options: Any) -> str:
        values: dict[str, Any] = {
            name: bindparam(f"loom_{name}", value, unique=True)
            for name, value in ((TENANT_COLUMN, self.identity.tenant), (USER_COLUMN, self.identity.user or None))
            if name in insert_stmt.table.c
        }
        if values and (insert_stmt.select is not None or insert_stmt._multi_values):
            raise CompileError(
                "an insert from a query or of several values cannot be limited to a tenant; pass its rows as parameters"
            )
        limited = insert_stmt.values(values) if values else insert_stmt
        return cast("Any", super()).visit_insert(limited, *arguments, **options)

    def _conditions(self, source: Any) -> Iterator[ColumnElement[bool]]:
        if _has_tenant(source):
            yield source.c[TENANT_COLUMN] == bindparam("loom_tenant", self.identity.tenant, unique=True)


def _has_tenant(source: Any) -> bool:
    """Return whether a FROM element is a table, or an alias of one, with the column of the tenant."""
    table: Any = cast("Any", source).element if isinstance(source, Alias) else source
    return isinstance(table, Table) and TENANT_COLUMN in cast("Any", table).c


def _first_table(source: Any) -> Any:
    """Return the table that a join starts with; the others get their conditions in the join."""
    while isinstance(source, (Join, FromGrouping)):
        source = source.left if isinstance(source, Join) else cast("Any", source).element
    return source
