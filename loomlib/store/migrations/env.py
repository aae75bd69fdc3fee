"""Alembic's entry: the store hands over a connection inside its own transaction; there is no other way to run this."""

from alembic import context

if hasattr(context, "config"):  # only inside a migration, so that importing this module has no effect
    context.configure(connection=context.config.attributes["connection"], transactional_ddl=True)
    context.run_migrations()
