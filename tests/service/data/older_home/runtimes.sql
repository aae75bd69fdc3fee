PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE runtimes (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, arn TEXT NOT NULL, created_at TEXT NOT NULL, client_token TEXT);
INSERT INTO runtimes VALUES('older-Z3vUDUiHXi','older','arn:aws:bedrock-agentcore:us-east-1:123456789012:runtime/older-Z3vUDUiHXi','2026-11-22T16:10:36.092173+00:00','token-of-the-runtime-0123456789-0123456789');
INSERT INTO runtimes VALUES('broken-xQtXn0NUbN','broken','arn:aws:bedrock-agentcore:us-east-1:123456789012:runtime/broken-xQtXn0NUbN','2026-11-22T16:10:36.187523+00:00','ecc2d4fe-bbbe-453e-89bf-798c172d52d6');
CREATE TABLE versions (
    runtime_id TEXT NOT NULL REFERENCES runtimes ON DELETE CASCADE, number INTEGER NOT NULL, status TEXT NOT NULL,
    failure TEXT NOT NULL, definition TEXT NOT NULL, overlay TEXT, created_at TEXT NOT NULL, updated_at TEXT NOT NULL,
    PRIMARY KEY (runtime_id, number));
INSERT INTO versions VALUES('older-Z3vUDUiHXi',1,'READY','','{"networkConfiguration": {"networkMode": "PUBLIC"}, "agentRuntimeArtifact": {"codeConfiguration": {"code": {"s3": {"bucket": "loom-code", "prefix": "packages/1.zip"}}, "runtime": "PYTHON_3_11", "entryPoint": ["agent.py"]}}, "roleArn": "arn:aws:iam::123456789012:role/loom", "description": "made by an older release", "environmentVariables": {"GREETING": "hello"}}',NULL,'2026-11-22T16:10:36.092173+00:00','2026-11-22T16:10:36.101073+00:00');
INSERT INTO versions VALUES('older-Z3vUDUiHXi',2,'READY','','{"networkConfiguration": {"networkMode": "PUBLIC"}, "agentRuntimeArtifact": {"codeConfiguration": {"code": {"s3": {"bucket": "loom-code", "prefix": "packages/2.zip"}}, "runtime": "PYTHON_3_11", "entryPoint": ["agent.py"]}}, "roleArn": "arn:aws:iam::123456789012:role/loom", "description": "second"}',NULL,'2026-11-22T16:10:36.145773+00:00','2026-11-22T16:10:36.152108+00:00');
INSERT INTO versions VALUES('broken-xQtXn0NUbN',1,'CREATE_FAILED','The entry point agent.py is not in the package','{"networkConfiguration": {"networkMode": "PUBLIC"}, "agentRuntimeArtifact": {"codeConfiguration": {"code": {"s3": {"bucket": "loom-code", "prefix": "packages/3.zip"}}, "runtime": "PYTHON_3_11", "entryPoint": ["agent.py"]}}, "roleArn": "arn:aws:iam::123456789012:role/loom"}',NULL,'2026-11-22T16:10:36.187523+00:00','2026-11-22T16:10:36.191677+00:00');
CREATE TABLE endpoints (
    runtime_id TEXT NOT NULL REFERENCES runtimes ON DELETE CASCADE, name TEXT NOT NULL, id TEXT NOT NULL,
    live INTEGER, target INTEGER NOT NULL, status TEXT NOT NULL, failure TEXT NOT NULL, description TEXT NOT NULL,
    created_at TEXT NOT NULL, updated_at TEXT NOT NULL, PRIMARY KEY (runtime_id, name));
INSERT INTO endpoints VALUES('older-Z3vUDUiHXi','DEFAULT','DEFAULT-SnkG9VJOwM',2,2,'READY','','','2026-11-22T16:10:36.092173+00:00','2026-11-22T16:10:36.152108+00:00');
INSERT INTO endpoints VALUES('older-Z3vUDUiHXi','prod','prod-6gPCztLehl',1,1,'READY','','stays','2026-11-22T16:10:36.120702+00:00','2026-11-22T16:10:36.120702+00:00');
INSERT INTO endpoints VALUES('broken-xQtXn0NUbN','DEFAULT','DEFAULT-QrFFdXT42o',NULL,1,'CREATE_FAILED','The entry point agent.py is not in the package','','2026-11-22T16:10:36.187523+00:00','2026-11-22T16:10:36.191677+00:00');
CREATE TABLE tags (arn TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (arn, name));
INSERT INTO tags VALUES('arn:aws:bedrock-agentcore:us-east-1:123456789012:runtime/older-Z3vUDUiHXi','team','loom');
INSERT INTO tags VALUES('arn:aws:bedrock-agentcore:us-east-1:123456789012:runtime/older-Z3vUDUiHXi/runtime-endpoint/prod','stage','prod');
COMMIT;
