"""The tables of `memory.db`.

`events.seq` is never used twice, so "all events past seq n" is the journal from which extraction reads.
Times are whole milliseconds since 1970, the resolution in which AgentCore Memory keeps and orders events.
"""

from typing import Final

SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS memories (
    number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, arn TEXT NOT NULL, name TEXT NOT NULL UNIQUE,
    body TEXT NOT NULL, event_expiry_days INTEGER NOT NULL, client_token TEXT UNIQUE, digest BLOB,
    created_at INTEGER NOT NULL);

CREATE TABLE IF NOT EXISTS memory_tags (
    memory_id TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (memory_id, name)) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS sessions (
    number INTEGER PRIMARY KEY AUTOINCREMENT, memory_id TEXT NOT NULL, actor_id TEXT NOT NULL, session_id TEXT NOT NULL,
    created_at INTEGER NOT NULL, empty_since INTEGER, UNIQUE (memory_id, actor_id, session_id));
CREATE INDEX IF NOT EXISTS sessions_newest ON sessions (memory_id, actor_id, number);
CREATE INDEX IF NOT EXISTS sessions_empty ON sessions (empty_since) WHERE empty_since IS NOT NULL;

CREATE TABLE IF NOT EXISTS branches (
    session_number INTEGER NOT NULL, name TEXT NOT NULL, parent TEXT NOT NULL, root_event TEXT NOT NULL,
    root_timestamp_ms INTEGER NOT NULL, root_seq INTEGER NOT NULL,
    PRIMARY KEY (session_number, name)) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS events (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, memory_id TEXT NOT NULL, actor_id TEXT NOT NULL, session_id TEXT NOT NULL,
    session_number INTEGER NOT NULL, event_id TEXT NOT NULL, timestamp_ms INTEGER NOT NULL,
    branch TEXT, root_event TEXT, body TEXT NOT NULL, metadata TEXT, extraction TEXT,
    client_token TEXT, digest BLOB, created_at INTEGER NOT NULL, expires_at INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS events_newest ON events (session_number, timestamp_ms, seq);
CREATE INDEX IF NOT EXISTS events_by_memory ON events (memory_id, seq);
CREATE INDEX IF NOT EXISTS events_expiring ON events (expires_at);
CREATE UNIQUE INDEX IF NOT EXISTS events_by_token ON events (memory_id, client_token) WHERE client_token IS NOT NULL;

CREATE TABLE IF NOT EXISTS event_terms (
    session_number INTEGER NOT NULL, term TEXT NOT NULL, timestamp_ms INTEGER NOT NULL, seq INTEGER NOT NULL,
    PRIMARY KEY (session_number, term, timestamp_ms, seq)) WITHOUT ROWID;
"""
