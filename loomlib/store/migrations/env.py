"""Alembic's entry: the store hands over a connection inside its own transaction; there is no other way to run this."""

from alembic import context

context.configure(connection=context.config.attributes["connection"], transactional_ddl=True)
context.run_migrations()
