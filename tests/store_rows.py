"""Statements on a store's database beside the store, on SQLite and PostgreSQL alike."""

from __future__ import annotations

from typing import Any

from sqlalchemy import NullPool, create_engine, text


def query(url: str, statement: str, **values: Any) -> list[tuple[Any, ...]]:
    """Run a statement in a transaction of its own and return its rows.

    Args:
        url: The database's address.
        statement: SQL, with `:name` where a value belongs.
        values: The values by name.
    """
    engine = create_engine(url, poolclass=NullPool)
    with engine.begin() as connection:
        result = connection.execute(text(statement), values)
        return [tuple(row) for row in result] if result.returns_rows else []
