PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE memories (
    number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, arn TEXT NOT NULL, name TEXT NOT NULL UNIQUE,
    body TEXT NOT NULL, event_expiry_days INTEGER NOT NULL, client_token TEXT UNIQUE, digest BLOB,
    created_at INTEGER NOT NULL);
INSERT INTO memories VALUES(1,'older_memory-bExHO6Nn8O','arn:aws:bedrock-agentcore:us-east-1:123456789012:memory/older_memory-bExHO6Nn8O','older_memory','{"arn": "arn:aws:bedrock-agentcore:us-east-1:123456789012:memory/older_memory-bExHO6Nn8O", "id": "older_memory-bExHO6Nn8O", "name": "older_memory", "eventExpiryDuration": 365, "status": "ACTIVE", "createdAt": 1795363836.213, "updatedAt": 1795363836.213, "strategies": [{"strategyId": "facts-IM3JnUCGma", "name": "facts", "type": "SEMANTIC", "namespaces": ["/facts/{actorId}/"], "namespaceTemplates": ["/facts/{actorId}/"], "createdAt": 1795363836.213, "updatedAt": 1795363836.213, "status": "ACTIVE"}], "description": "d"}',365,'token-of-the-memory-0123456789-0123456789',X'a0dc521d6bfb2883bef806bdebffbda09050006255fab22c9601ed6f974e9d1c',1795363836213);
CREATE TABLE memory_tags (
    memory_id TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (memory_id, name)) WITHOUT ROWID;
INSERT INTO memory_tags VALUES('older_memory-bExHO6Nn8O','owner','anna');
CREATE TABLE sessions (
    number INTEGER PRIMARY KEY AUTOINCREMENT, memory_id TEXT NOT NULL, actor_id TEXT NOT NULL, session_id TEXT NOT NULL,
    created_at INTEGER NOT NULL, empty_since INTEGER, UNIQUE (memory_id, actor_id, session_id));
INSERT INTO sessions VALUES(1,'older_memory-bExHO6Nn8O','anna','ssssssss',1795363836410,NULL);
CREATE TABLE branches (
    session_number INTEGER NOT NULL, name TEXT NOT NULL, parent TEXT NOT NULL, root_event TEXT NOT NULL,
    root_timestamp_ms INTEGER NOT NULL, root_seq INTEGER NOT NULL,
    PRIMARY KEY (session_number, name)) WITHOUT ROWID;
CREATE TABLE events (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, memory_id TEXT NOT NULL, actor_id TEXT NOT NULL, session_id TEXT NOT NULL,
    session_number INTEGER NOT NULL, event_id TEXT NOT NULL, timestamp_ms INTEGER NOT NULL,
    branch TEXT, root_event TEXT, body TEXT NOT NULL, metadata TEXT, extraction TEXT,
    client_token TEXT, digest BLOB, created_at INTEGER NOT NULL, expires_at INTEGER NOT NULL);
INSERT INTO events VALUES(1,'older_memory-bExHO6Nn8O','anna','ssssssss',1,'0000001795363836230#00000001',1795363836230,NULL,NULL,'[{"conversational": {"content": {"text": "I live in Ulm."}, "role": "USER"}}]',NULL,NULL,'d93b5f77-01e3-4908-bbe2-8deec41673de',X'a1eefb3e2a22c88160a20de17aaa203f4d4597c34fc5c7907c40cdf75b1c92f3',1795363836410,9999999999999);
CREATE TABLE event_terms (
    session_number INTEGER NOT NULL, term TEXT NOT NULL, timestamp_ms INTEGER NOT NULL, seq INTEGER NOT NULL,
    PRIMARY KEY (session_number, term, timestamp_ms, seq)) WITHOUT ROWID;
INSERT INTO event_terms VALUES(1,'bmain',1795363836230,1);
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES('memories',1);
INSERT INTO sqlite_sequence VALUES('sessions',1);
INSERT INTO sqlite_sequence VALUES('events',1);
CREATE INDEX sessions_newest ON sessions (memory_id, actor_id, number);
CREATE INDEX sessions_empty ON sessions (empty_since) WHERE empty_since IS NOT NULL;
CREATE INDEX events_newest ON events (session_number, timestamp_ms, seq);
CREATE INDEX events_by_memory ON events (memory_id, seq);
CREATE INDEX events_expiring ON events (expires_at);
CREATE UNIQUE INDEX events_by_token ON events (memory_id, client_token) WHERE client_token IS NOT NULL;
COMMIT;
