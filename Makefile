# Two commands do all set-up on a machine with Python 3.11 and make: `make report` and `make test`.
# Each target prepares `.venv` first; nothing outside this folder is touched, except that the tests install Debian's
# chromium, bubblewrap, slirp4netns and PostgreSQL when they are missing and this user may.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
READY_REPORT := $(VENV)/.ready-report
OUT    ?= reports
export LOOM_HOME ?= $(CURDIR)/.loom
unexport PYTHONDONTWRITEBYTECODE

.PHONY: report lab test check style types fast service unit long notebooks browser docs sentences coverage bench bench-release bench-others bubblewrap chromium postgresql proxy ready clean
.DEFAULT_GOAL := report

report: $(READY_REPORT)  ## the latency study against the local AgentCore, end to end
	@$(BIN)/loom report latency_study -p agent=calculator -p cold=10 -p warm=10 -p sticky=10 --out $(OUT)

lab: $(READY)  ## JupyterLab, opened on Start here
	@$(BIN)/loom lab

# The notebooks run once: the browser looks at the exports of what nbval has run.
test: export LOOM_EXECUTED := $(CURDIR)/.loom/executed
# Pyright is one process and takes minutes: beside the tests it uses what they leave of the cores.
test: style  ## everything but `make long`
	@{ $(MAKE) --no-print-directory types 2>&1; echo $$?; } > $(VENV)/.types & \
	$(MAKE) --no-print-directory unit notebooks browser docs; tests=$$?; wait; \
	sed '$$d' $(VENV)/.types; types=$$(tail -n 1 $(VENV)/.types); \
	exit $$((tests | types))

check: style types  ## style, types, layers, stripped notebooks

style: $(READY)
	@$(BIN)/ruff check . && $(BIN)/ruff format --check .
	@$(BIN)/lint-imports --no-logo
	@git ls-files '*.ipynb' | xargs $(BIN)/nbstripout --verify --extra-keys "metadata.papermill cell.metadata.papermill"

types: $(READY)
	@$(BIN)/pyright

# The order of the tests within a file: the same all day, another tomorrow. `make test SEED=20261231` repeats a day's.
SEED ?= $(shell date +%Y%m%d)
ORDER := --randomly-seed=$(SEED)
SUITE := -q -m "not browser and not aws and not long" -n 4 --dist loadfile --no-loadscope-reorder --durations=10 $(ORDER)

fast: $(READY) postgresql  ## the tests that start no service
	@$(BIN)/python -m pytest tests/unit $(SUITE)

service: $(READY) bubblewrap postgresql proxy  ## the tests against the local AgentCore
	@$(BIN)/python -m pytest tests --ignore=tests/unit --ignore=tests/browser $(SUITE)

unit: $(READY) bubblewrap postgresql proxy  # both in one run, which shares the work better; `make browser` runs the folder that is left out
	@$(BIN)/python -m pytest tests --ignore=tests/browser $(SUITE)

long: $(READY) bubblewrap postgresql proxy  ## what takes minutes: a hundred kills, every case of the shipped eval sets
	@$(BIN)/python -m pytest tests -q -m long -n 3 --dist loadfile --no-loadscope-reorder --durations=0 $(ORDER)

notebooks: $(READY) chromium
	@$(BIN)/python -m pytest -p tests.executed_notebooks --nbval-lax --nbval-current-env notebooks -q -p no:cacheprovider \
		-p no:randomly -n 4 --dist loadfile  # the cells of a notebook run in their order

browser: $(READY) chromium
	@$(BIN)/python -m pytest tests/browser -q -m "not aws and not long" -n 2 --dist loadfile $(ORDER)

docs: $(READY)  ## the documentation site, in docs/site
	@$(BIN)/python docs/build.py

sentences:  ## every sentence that a user can see, by package, for review as text
	@$(PYTHON) docs/sentences.py

coverage: $(READY) postgresql  ## lines and branches of loomlib that the tests run, in every process that they start
	@$(BIN)/python -m pytest tests --ignore=tests/browser $(SUITE) --cov --cov-report=term:skip-covered

bench: $(READY)  ## speed, as ratios measured side by side
	@$(BIN)/python -m tests.benchmarks

bench-release: $(READY)  ## the same benchmarks in FORMER, a clone of the previous release, side by side
	@$(BIN)/python -m tests.benchmarks.releases $(FORMER)

bench-others:  ## what evaluations and the load engine are measured beside, in .venv-others
	@test -x .venv-others/bin/python || $(PYTHON) -m venv .venv-others
	@.venv-others/bin/python -m pip install -q -r tests/benchmarks/requirements.txt
	@test -x .venv-others/aiperf/bin/python || $(PYTHON) -m venv .venv-others/aiperf
	@.venv-others/aiperf/bin/python -m pip install -q -r tests/benchmarks/requirements-aiperf.txt

bubblewrap:
	@.ci/bubblewrap

postgresql:
	@.ci/postgresql

proxy: $(READY)
	@.ci/proxy $(VENV)

chromium:
	@command -v chromium >/dev/null || .ci/chromium

ready: $(READY)

PINS := requirements-report.txt pyproject.toml .ci/environment

$(READY): requirements.txt requirements-tiny-model.txt requirements-hub.txt widgets/pyproject.toml $(PINS)
	@PYTHON=$(PYTHON) .ci/environment $(VENV) all

# Less than $(READY), and not made again where that is there.
$(READY_REPORT): $(PINS)
	@PYTHON=$(PYTHON) .ci/environment $(VENV) report

clean:
	rm -rf $(VENV) .pytest_cache .ruff_cache .import_linter_cache reports
