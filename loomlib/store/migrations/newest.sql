CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
CREATE TABLE agents (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	scope TEXT NOT NULL, 
	arn TEXT NOT NULL, 
	runtime_id TEXT NOT NULL, 
	name TEXT, 
	status TEXT, 
	region TEXT NOT NULL, 
	account_id TEXT NOT NULL, 
	log_group TEXT, 
	available_qualifiers TEXT, 
	raw_metadata TEXT, 
	registered_at DATETIME NOT NULL, 
	last_refreshed_at DATETIME, 
	removed_at DATETIME, 
	CONSTRAINT uq_agents_scope_arn UNIQUE (scope, arn)
);
CREATE TABLE invocations (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	agent_id INTEGER NOT NULL, 
	session_id TEXT NOT NULL, 
	qualifier TEXT NOT NULL, 
	client_invoke_time DOUBLE, 
	client_done_time DOUBLE, 
	agent_start_time DOUBLE, 
	cold_start_latency_ms DOUBLE, 
	client_duration_ms DOUBLE, 
	status TEXT NOT NULL, 
	error_message TEXT, 
	created_at DATETIME NOT NULL, 
	ttft_ms DOUBLE, 
	connect_ms DOUBLE, 
	connection_reused BOOLEAN, 
	bytes_received BIGINT NOT NULL, 
	failure TEXT, 
	request_id TEXT, 
	trace_id TEXT, 
	content_type TEXT, 
	labels TEXT, 
	payload_digest TEXT, 
	start_state TEXT, 
	skew_low_ms DOUBLE, 
	skew_high_ms DOUBLE, 
	writer_host TEXT NOT NULL, 
	writer_pid INTEGER NOT NULL, 
	writer_born TEXT NOT NULL, 
	prompt TEXT, 
	chunk_offsets_ms TEXT, 
	response TEXT, 
	CONSTRAINT fk_invocations_agent_id FOREIGN KEY(agent_id) REFERENCES agents (id)
);
CREATE INDEX ix_invocations_agent_id_id ON invocations (agent_id, id);
CREATE INDEX ix_invocations_session_id ON invocations (session_id);
CREATE INDEX ix_invocations_status ON invocations (status);
CREATE TABLE studies (
	id TEXT NOT NULL, 
	scope TEXT NOT NULL, 
	agent_arn TEXT NOT NULL, 
	agent_name TEXT, 
	design TEXT NOT NULL, 
	state TEXT NOT NULL, 
	created_at DATETIME NOT NULL, 
	finished_at DATETIME, 
	environment TEXT, 
	labels TEXT, 
	lease_token TEXT, 
	lease_host TEXT, 
	lease_pid INTEGER, 
	lease_born TEXT, 
	lease_until DATETIME, 
	CONSTRAINT pk_studies PRIMARY KEY (id)
);
CREATE INDEX ix_studies_agent_arn ON studies (agent_arn);
CREATE TABLE measurements (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	study_id TEXT NOT NULL, 
	position INTEGER NOT NULL, 
	block INTEGER NOT NULL, 
	scenario TEXT NOT NULL, 
	session_plan TEXT NOT NULL, 
	state TEXT NOT NULL, 
	session_id TEXT, 
	invocation_id INTEGER, 
	started_at DATETIME, 
	finished_at DATETIME, 
	schedule_lag_ms DOUBLE, 
	duration_ms DOUBLE, 
	ttft_ms DOUBLE, 
	connect_ms DOUBLE, 
	cold_start_latency_ms DOUBLE, 
	start_state TEXT, 
	skew_low_ms DOUBLE, 
	skew_high_ms DOUBLE, 
	failure TEXT, 
	error_message TEXT, 
	details TEXT, 
	CONSTRAINT fk_measurements_study_id FOREIGN KEY(study_id) REFERENCES studies (id), 
	CONSTRAINT fk_measurements_invocation_id FOREIGN KEY(invocation_id) REFERENCES invocations (id), 
	CONSTRAINT uq_measurements_study_id_position UNIQUE (study_id, position)
);
CREATE VIEW invocation_sessions AS
        SELECT id, agent_id, session_id, qualifier, prompt, response, client_invoke_time, client_done_time,
               agent_start_time, cold_start_latency_ms, client_duration_ms, status, error_message, created_at
        FROM invocations;
CREATE TABLE traces (
	invocation_id INTEGER NOT NULL, 
	session_id TEXT NOT NULL, 
	trace_id TEXT, 
	state TEXT NOT NULL, 
	is_complete BOOLEAN NOT NULL, 
	fetched_at DATETIME NOT NULL, 
	span_count INTEGER NOT NULL, 
	details TEXT, 
	records BLOB, 
	CONSTRAINT pk_traces PRIMARY KEY (invocation_id), 
	CONSTRAINT fk_traces_invocation_id FOREIGN KEY(invocation_id) REFERENCES invocations (id)
);
CREATE INDEX ix_traces_session_id ON traces (session_id);
CREATE INDEX ix_traces_trace_id ON traces (trace_id);
CREATE TABLE eval_sets (
	digest TEXT NOT NULL, 
	name TEXT NOT NULL, 
	version TEXT NOT NULL, 
	description TEXT, 
	case_count INTEGER NOT NULL, 
	details TEXT, 
	cases BLOB NOT NULL, 
	CONSTRAINT pk_eval_sets PRIMARY KEY (digest)
);
CREATE TABLE eval_runs (
	id TEXT NOT NULL, 
	name TEXT, 
	set_digest TEXT NOT NULL, 
	target_name TEXT NOT NULL, 
	target_key TEXT NOT NULL, 
	scope TEXT, 
	agent_arn TEXT, 
	repeats INTEGER NOT NULL, 
	state TEXT NOT NULL, 
	reason TEXT, 
	created_at DATETIME NOT NULL, 
	finished_at DATETIME, 
	labels TEXT, 
	design TEXT, 
	summary TEXT, 
	lease_token TEXT, 
	lease_host TEXT, 
	lease_pid INTEGER, 
	lease_born TEXT, 
	lease_until DATETIME, 
	CONSTRAINT pk_eval_runs PRIMARY KEY (id), 
	CONSTRAINT fk_eval_runs_set_digest FOREIGN KEY(set_digest) REFERENCES eval_sets (digest)
);
CREATE INDEX ix_eval_runs_created_at ON eval_runs (created_at);
CREATE INDEX ix_eval_runs_agent_arn ON eval_runs (agent_arn);
CREATE TABLE eval_answers (
	id INTEGER NOT NULL, 
	"key" TEXT, 
	is_failure BOOLEAN NOT NULL, 
	duration_ms DOUBLE, 
	ttft_ms DOUBLE, 
	input_tokens BIGINT, 
	output_tokens BIGINT, 
	tool_calls INTEGER, 
	cost DOUBLE, 
	trace_id TEXT, 
	body TEXT NOT NULL, 
	CONSTRAINT pk_eval_answers PRIMARY KEY (id), 
	CONSTRAINT uq_eval_answers_key UNIQUE ("key")
);
CREATE TABLE eval_results (
	run_id TEXT NOT NULL, 
	repeat INTEGER NOT NULL, 
	place INTEGER NOT NULL, 
	answer_id INTEGER NOT NULL, 
	is_reused BOOLEAN NOT NULL, 
	judge_failures TEXT, 
	CONSTRAINT pk_eval_results PRIMARY KEY (run_id, repeat, place), 
	CONSTRAINT fk_eval_results_run_id FOREIGN KEY(run_id) REFERENCES eval_runs (id), 
	CONSTRAINT fk_eval_results_answer_id FOREIGN KEY(answer_id) REFERENCES eval_answers (id)
)
 WITHOUT ROWID

;
CREATE INDEX ix_eval_results_answer_id ON eval_results (answer_id);
CREATE TABLE eval_scores (
	answer_id INTEGER NOT NULL, 
	case_digest TEXT NOT NULL, 
	evaluator_digest TEXT NOT NULL, 
	position INTEGER NOT NULL, 
	value DOUBLE, 
	passed BOOLEAN, 
	part TEXT, 
	labels TEXT, 
	said TEXT, 
	CONSTRAINT pk_eval_scores PRIMARY KEY (answer_id, case_digest, evaluator_digest, position), 
	CONSTRAINT fk_eval_scores_answer_id FOREIGN KEY(answer_id) REFERENCES eval_answers (id)
)
 WITHOUT ROWID

;
CREATE INDEX ix_invocations_figures ON invocations (agent_id, client_invoke_time, status, failure, client_duration_ms, cold_start_latency_ms, session_id);
CREATE TABLE invocation_costs (
	invocation_id INTEGER NOT NULL, 
	known_picos BIGINT NOT NULL, 
	unknown_items INTEGER NOT NULL, 
	is_estimate BOOLEAN NOT NULL, 
	is_simulated BOOLEAN NOT NULL, 
	currency TEXT NOT NULL, 
	priced_at DATETIME NOT NULL, 
	CONSTRAINT pk_invocation_costs PRIMARY KEY (invocation_id), 
	CONSTRAINT fk_invocation_costs_invocation_id FOREIGN KEY(invocation_id) REFERENCES invocations (id)
);
CREATE TABLE alerts (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	scope TEXT NOT NULL, 
	name TEXT NOT NULL, 
	rule TEXT NOT NULL, 
	state TEXT, 
	state_since DATETIME, 
	checked_at DATETIME, 
	told_at DATETIME, 
	told_state TEXT, 
	created_at DATETIME NOT NULL, untold TEXT, 
	CONSTRAINT uq_alerts_scope_name UNIQUE (scope, name)
);
CREATE TABLE alert_events (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	scope TEXT NOT NULL, 
	alert TEXT NOT NULL, 
	at DATETIME NOT NULL, 
	kind TEXT NOT NULL, 
	state TEXT NOT NULL, 
	"before" TEXT, 
	sentence TEXT NOT NULL, 
	reading TEXT
);
CREATE INDEX ix_alert_events_scope_alert ON alert_events (scope, alert);
CREATE TABLE invocation_events (
	invocation_id INTEGER NOT NULL, 
	events BLOB NOT NULL, 
	CONSTRAINT pk_invocation_events PRIMARY KEY (invocation_id), 
	CONSTRAINT fk_invocation_events_invocation_id FOREIGN KEY(invocation_id) REFERENCES invocations (id)
);
CREATE TABLE invocation_load (
	invocation_id INTEGER NOT NULL, 
	processors INTEGER NOT NULL, 
	tasks INTEGER, 
	load_1_min DOUBLE, 
	CONSTRAINT pk_invocation_load PRIMARY KEY (invocation_id), 
	CONSTRAINT fk_invocation_load_invocation_id FOREIGN KEY(invocation_id) REFERENCES invocations (id)
);
INSERT INTO alembic_version VALUES ('0007');
