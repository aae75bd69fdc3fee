"""`python -m loomlib.local.insights`: one query, as the service starts it."""

from .running import run_query

run_query()
