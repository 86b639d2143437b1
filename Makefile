# Every verb a contributor types. The environment is .venv; nothing is installed anywhere else.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# Each process of the suite starts dozens of Pythons: they must find compiled code.
unexport PYTHONDONTWRITEBYTECODE
# One process more than processors: many tests wait for a server or a timer.
PROCESSES ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
PYTEST := $(BIN)/python -m pytest -n $(PROCESSES) --dist worksteal
SOURCES := src client/src tests benchmarks tools
DATA ?= ../shared/bench

CELLS ?= tests/contract tests/conversations tests/transfer tests/webhooks tests/server/test_matrix.py

FRAMEWORKS := .venv-integrations
FRAMEWORKS_STAMP := $(FRAMEWORKS)/.installed

# Frameworks whose dependencies conflict with those of the others: each has an environment and a verb of its own.
APART := crewai hermes strands
APART_STAMPS := $(APART:%=.venv-%/.installed)

RELEASE := .venv-release
RELEASE_STAMP := $(RELEASE)/.installed

JS_STAMP := client-js/node_modules/.installed
MANIFESTS_STAMP := tests/manifests/node_modules/.installed

.PHONY: install demo test test-load test-models test-cells test-router test-integrations $(APART:%=test-%) test-js test-manifests test-pages browser lint check format site \
    release bench clean lint-style lint-generated lint-types lint-test-types lint-imports

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

# One extra of pyproject.toml each, so that a verb installs what it needs and no more. `dev` holds the others.
$(VENV)/.installed-%: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable client --editable '.[$*]'
	@touch $@ $(if $(filter dev,$*),$(addprefix $(VENV)/.installed-,test test-models browser site))

demo: $(STAMP)  ## three months of conversations: remember, recall, explain, correct, forget, the wall
	$(BIN)/keeps demo

test: $(VENV)/.installed-test  ## the suite, on a real PostgreSQL, as keeps_app
	$(PYTEST) $(ARGS)

test-load: $(VENV)/.installed-test  ## behaviour under load, faults and long fuzzing
	$(PYTEST) -m 'load and not browser' -o faulthandler_timeout=600 $(ARGS)

test-models: $(VENV)/.installed-test-models  ## the optional models: multilingual, reranker
	$(PYTEST) -m models tests/ai $(ARGS)

$(FRAMEWORKS_STAMP): $(BIN)/python pyproject.toml client/pyproject.toml tests/integrations/constraints.txt
	@$(PYTHON) -m venv $(FRAMEWORKS) 2>/dev/null || $(PYTHON) -m virtualenv --quiet $(FRAMEWORKS) 2>/dev/null || \
	    PYTHONPATH=.cache/virtualenv $(PYTHON) -m virtualenv --quiet $(FRAMEWORKS)
	$(FRAMEWORKS)/bin/python -m pip install --quiet --disable-pip-version-check --constraint tests/integrations/constraints.txt \
	    --editable client --editable '.[adk,agent-framework,claude,langchain,langgraph,llama-index,mcp,openai-agents,pydantic-ai-harness]' langgraph \
	    langgraph-checkpoint-postgres langmem langchain-tests 'psycopg[binary]' mem0ai mem0-cli hindsight-client basedpyright hypothesis pytest \
	    pytest-xdist
	@touch $@

test-integrations: $(FRAMEWORKS_STAMP)  ## adapters against the frameworks' own packages, in an environment of their own
	$(FRAMEWORKS)/bin/python -m basedpyright -p tests/integrations
	$(FRAMEWORKS)/bin/python -m pytest -W error -p no:asyncio -o faulthandler_timeout=600 -n $(PROCESSES) --dist worksteal \
	    tests/integrations $(ARGS)

$(APART_STAMPS): .venv-%/.installed: $(BIN)/python pyproject.toml client/pyproject.toml tests/%/constraints.txt
	@$(PYTHON) -m venv .venv-$* 2>/dev/null || $(PYTHON) -m virtualenv --quiet .venv-$* 2>/dev/null || \
	    PYTHONPATH=.cache/virtualenv $(PYTHON) -m virtualenv --quiet .venv-$*
	.venv-$*/bin/python -m pip install --quiet --disable-pip-version-check --constraint tests/$*/constraints.txt \
	    --editable client --editable '.[$*]' basedpyright hypothesis pytest pytest-xdist
	@touch $@

$(APART:%=test-%): test-%: .venv-%/.installed  ## the adapter against the framework's own package, in an environment of its own
	.venv-$*/bin/python -m basedpyright -p tests/$*
	.venv-$*/bin/python -m pytest -W error -p no:asyncio -n 0 tests/$* $(ARGS)

$(JS_STAMP) $(MANIFESTS_STAMP): %/node_modules/.installed: %/package.json %/package-lock.json
	@command -v npm >/dev/null || { echo "npm is missing: install Node.js 20 or later, then try again" >&2; exit 1; }
	cd $* && npm ci --silent --no-audit --no-fund
	@touch $@

test-js: $(STAMP) $(JS_STAMP)  ## the JavaScript client against a server, as a package, with LangGraph.js and the AI SDK
	cd client-js && npm test --silent -- $(ARGS)

test-manifests: $(VENV)/.installed-test $(MANIFESTS_STAMP)  ## manifests of Kubernetes against the types of its operators (needs kubectl)
	@command -v kubectl >/dev/null || { echo "kubectl is missing: install it, then try again" >&2; exit 1; }
	$(BIN)/python -m pytest -n 0 -m manifests tests/manifests $(ARGS)

test-pages: $(VENV)/.installed-test  ## every block of Python and shell in the documentation, run
	$(PYTEST) -m pages tests/pages $(ARGS)

test-cells: $(VENV)/.installed-test  ## what callers can do, with all tenants in a second PostgreSQL; CELLS=tests is the whole suite
	KEEPS_TEST_CELLS=1 $(PYTEST) $(CELLS) $(ARGS)

test-router: $(VENV)/.installed-test  ## what callers can do, with all tenants in the second PostgreSQL behind a sharding router
	KEEPS_TEST_ROUTER=pgdog $(PYTEST) $(CELLS) $(ARGS)

browser: $(VENV)/.installed-browser  ## Keeps in Chromium (Debian's, installed where it is missing and we are root)
	@command -v chromium >/dev/null || { \
	    [ "$$(id -u)" = 0 ] || { echo "Chromium is missing: install Debian's package chromium, then try again" >&2; exit 1; }; \
	    { apt-get -o Acquire::Retries=3 update -qq || true; }; \
	    DEBIAN_FRONTEND=noninteractive apt-get -o Acquire::Retries=3 install -y -qq --no-install-recommends chromium >/dev/null; }
	$(BIN)/python -m pytest -m 'browser and not load' -o faulthandler_timeout=600 tests/browser $(ARGS)

check: lint  ## what a change must pass: style, generated files, types, imports, tests
	$(MAKE) --no-print-directory test

lint: $(VENV)/.installed-dev  ## style, generated files, types, imports: side by side, since most use one processor
	$(MAKE) --no-print-directory --jobs 2 --output-sync=target lint-types lint-test-types lint-style lint-generated lint-imports

lint-style:
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/python tools/check_style.py
	$(BIN)/skillsaw lint plugin

lint-generated:
	$(BIN)/python tools/make_sync.py --check
	$(BIN)/python tools/make_reference.py --check
	$(BIN)/python tools/make_pictures.py --check
	$(BIN)/python tools/make_int8.py --check

lint-types:
	$(BIN)/basedpyright

lint-test-types:
	$(BIN)/basedpyright -p tests

lint-imports:
	$(BIN)/lint-imports

format: $(VENV)/.installed-dev  ## put the code into shape
	$(BIN)/python tools/make_sync.py
	$(BIN)/python tools/make_reference.py
	$(BIN)/python tools/make_pictures.py
	$(BIN)/python tools/make_int8.py
	$(BIN)/ruff format $(SOURCES)
	$(BIN)/ruff check --fix $(SOURCES)

site: $(VENV)/.installed-site  ## the documentation as a site, in site/: built strictly, its links checked, nothing from elsewhere
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
	$(BIN)/python -m benchmarks speed
	@if [ -f $(DATA)/benchlib.py ]; then $(BIN)/python -m benchmarks quality --data $(DATA); else echo "no scorers in DATA=$(DATA): quality left out"; fi

clean:  ## remove what the verbs above made
	rm -rf $(VENV) $(FRAMEWORKS) $(APART:%=.venv-%) client-js/node_modules tests/manifests/node_modules client-js/dist client-js/build .cache site .ruff_cache .import_linter_cache
