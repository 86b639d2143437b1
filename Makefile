# Every verb a contributor types. The environment is .venv; nothing is installed anywhere else.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
DEV_STAMP := $(VENV)/.installed-dev
SOURCES := src client/src tests benchmarks tools
DATA ?= ../shared/bench

CELLS ?= tests/contract tests/conversations tests/transfer tests/webhooks tests/server/test_matrix.py

FRAMEWORKS := .venv-integrations
FRAMEWORKS_STAMP := $(FRAMEWORKS)/.installed

RELEASE := .venv-release
RELEASE_STAMP := $(RELEASE)/.installed

.PHONY: install demo test test-cells test-integrations test-pages browser check format site release bench clean

install: $(STAMP)  ## Keeps, its SDK and the `keeps` command, into .venv

$(BIN)/python:
	@# Debian's Python comes without ensurepip; then virtualenv makes the environment, from a folder of our own.
	@$(PYTHON) -m venv $(VENV) 2>/dev/null || { \
	    rm -rf $(VENV); \
	    $(PYTHON) -m pip install --quiet --disable-pip-version-check --target .cache/virtualenv virtualenv && \
	    PYTHONPATH=.cache/virtualenv $(PYTHON) -m virtualenv --quiet $(VENV); }

$(STAMP): $(BIN)/python pyproject.toml client/pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable client --editable .
	@touch $@

$(DEV_STAMP): $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable client --editable '.[dev,documents,hub,multilingual,openai,redis,reranker,otel]'
	@touch $@

demo: $(STAMP)  ## three months of conversations: remember, recall, explain, correct, forget, the wall
	$(BIN)/keeps demo

test: $(DEV_STAMP)  ## the whole suite, on a real PostgreSQL, as keeps_app
	$(BIN)/python -m pytest -n logical --dist loadfile $(ARGS)

$(FRAMEWORKS_STAMP): $(BIN)/python pyproject.toml client/pyproject.toml tests/integrations/constraints.txt
	@$(PYTHON) -m venv $(FRAMEWORKS) 2>/dev/null || $(PYTHON) -m virtualenv --quiet $(FRAMEWORKS) 2>/dev/null || \
	    PYTHONPATH=.cache/virtualenv $(PYTHON) -m virtualenv --quiet $(FRAMEWORKS)
	$(FRAMEWORKS)/bin/python -m pip install --quiet --disable-pip-version-check --constraint tests/integrations/constraints.txt \
	    --editable client --editable '.[adk,claude,langchain,langgraph,mcp]' langgraph langgraph-checkpoint-postgres langmem \
	    langchain-tests 'psycopg[binary]' mem0ai mem0-cli basedpyright hypothesis pytest pytest-timeout pytest-xdist
	@touch $@

test-integrations: $(FRAMEWORKS_STAMP)  ## adapters against the frameworks' own packages, in an environment of their own
	$(FRAMEWORKS)/bin/python -m basedpyright -p tests/integrations
	$(FRAMEWORKS)/bin/python -m pytest -W error -p no:asyncio tests/integrations $(ARGS)

test-pages: $(DEV_STAMP)  ## every block of Python and shell in the documentation, run
	$(BIN)/python -m pytest -m pages tests/pages -n logical $(ARGS)

test-cells: $(DEV_STAMP)  ## what callers can do, with all tenants in a second PostgreSQL; CELLS=tests is the whole suite
	KEEPS_TEST_CELLS=1 $(BIN)/python -m pytest -n logical --dist loadfile $(CELLS) $(ARGS)

browser: $(DEV_STAMP)  ## Keeps in Chromium (Debian's, installed where it is missing and we are root)
	@command -v chromium >/dev/null || { \
	    [ "$$(id -u)" = 0 ] || { echo "Chromium is missing: install Debian's package chromium, then try again" >&2; exit 1; }; \
	    { apt-get -o Acquire::Retries=3 update -qq || true; }; \
	    DEBIAN_FRONTEND=noninteractive apt-get -o Acquire::Retries=3 install -y -qq --no-install-recommends chromium >/dev/null; }
	$(BIN)/python -m pytest -m browser tests/browser $(ARGS)

check: $(DEV_STAMP)  ## what CI runs: format, lint, types, imports, tests
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/python tools/make_sync.py --check
	$(BIN)/python tools/make_reference.py --check
	$(BIN)/python tools/make_pictures.py --check
	$(BIN)/python tools/make_int8.py --check
	$(BIN)/basedpyright
	$(BIN)/basedpyright -p tests
	$(BIN)/lint-imports
	$(MAKE) --no-print-directory test

format: $(DEV_STAMP)  ## put the code into shape
	$(BIN)/python tools/make_sync.py
	$(BIN)/python tools/make_reference.py
	$(BIN)/python tools/make_pictures.py
	$(BIN)/python tools/make_int8.py
	$(BIN)/ruff format $(SOURCES)
	$(BIN)/ruff check --fix $(SOURCES)

site: $(DEV_STAMP)  ## the documentation as a site, in site/: built strictly, its links checked, nothing from elsewhere
	$(BIN)/python tools/make_site.py

$(RELEASE_STAMP): $(BIN)/python pyproject.toml
	@$(PYTHON) -m venv $(RELEASE) 2>/dev/null || $(PYTHON) -m virtualenv --quiet $(RELEASE) 2>/dev/null || \
	    PYTHONPATH=.cache/virtualenv $(PYTHON) -m virtualenv --quiet $(RELEASE)
	$(RELEASE)/bin/python tools/make_release.py --needs | xargs $(RELEASE)/bin/python -m pip install --quiet --disable-pip-version-check
	@touch $@

release: $(RELEASE_STAMP)  ## wheels and sdists of both distributions, built, checked, installed and tried; SBOM, licences
	$(RELEASE)/bin/python tools/make_release.py

bench: $(STAMP)  ## speed beside a floor of the same run; quality where DATA holds the scorers
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable client --editable '.[bench]'
	$(BIN)/keeps bench speed
	@if [ -f $(DATA)/benchlib.py ]; then $(BIN)/keeps bench quality --data $(DATA); else echo "no scorers in DATA=$(DATA): quality left out"; fi

clean:  ## remove what the verbs above made
	rm -rf $(VENV) $(FRAMEWORKS) .cache site .ruff_cache .import_linter_cache
