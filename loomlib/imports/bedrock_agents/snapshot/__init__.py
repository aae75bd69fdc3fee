"""Snapshots of agents of Bedrock Agents: read from AWS without secrets, and stored as folders of readable files."""

from .agents import ReadAgent, read_agent
from .digests import agent_digest
from .encoding import SnapshotFormatError, decode_agent, encode
from .folders import changed_files, read_snapshot, snapshot_files, write_snapshot
from .taking import AgentReader, take_snapshot
from .value import AgentSnapshot

__all__ = [
    "AgentReader",
    "AgentSnapshot",
    "ReadAgent",
    "SnapshotFormatError",
    "agent_digest",
    "changed_files",
    "decode_agent",
    "encode",
    "read_agent",
    "read_snapshot",
    "snapshot_files",
    "take_snapshot",
    "write_snapshot",
]
