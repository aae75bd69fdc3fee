"""A plugin that does everything wrong."""
