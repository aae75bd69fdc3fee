"""A plugin with every hook that Loom has."""
