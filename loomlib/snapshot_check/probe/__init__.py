"""The part of the snapshot check that runs in the agent's process.

It is copied into the package under the name `_loom_snapshot_probe`, runs in the agent's interpreter and therefore uses
the standard library only. `start` is the entry point.
"""
