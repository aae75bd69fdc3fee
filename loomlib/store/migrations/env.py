"""Alembic's entry point: runs migrations on the connection that the store passes, within its transaction."""

from alembic import context

if hasattr(context, "config"):  # only inside a migration, so that importing this module has no effect
    context.configure(connection=context.config.attributes["connection"], transactional_ddl=True)
    context.run_migrations()
