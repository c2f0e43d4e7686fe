# `make demo` and `make test` do all their set-up, in a virtual environment of their own.

PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
# Two more than there are processors, because many tests wait for servers, signals and time-outs.
JOBS ?= $(shell expr $$(nproc 2>/dev/null || echo 2) + 2)
STAMP = $(VENV)/.installed
LOWEST_VENV ?= $(VENV)-lowest
# Modules, or patterns of their names, that are mutated (all without one), and the mutants of each (0 for all).
MUTATION_MODULES ?=
MUTATION_SAMPLE ?= 40
MUTATION_OPTIONS ?=

export PYTHONDONTWRITEBYTECODE =
# Hypothesis would import trio, which selenium brings along, in each run of pytest: half of what it takes to import.
export HYPOTHESIS_NO_PLUGINS = 1

.PHONY: demo test test-all nightly lowest compat browser lint types parts docs matrix releases upgrades growth pictures messages build benchmark mutation clean

demo: $(STAMP)  ## test a queue of Scrapy that fails rules, and one that does not
	@$(BIN)/pytest -q -c /dev/null --rootdir=. --noconftest --queue-class=scrapy.squeues.FifoMemoryQueue \
		--queue-class=scrapy.squeues.PickleLifoDiskQueue || test $$? -eq 1
	@echo "Next: $(BIN)/pytest --queue-class=my_package.MyQueue tests a class of your own; 'script' shows how to see a failure again."

test: $(STAMP) browser lint types  ## what must hold before a change lands
	$(BIN)/pytest -n $(JOBS) --dist worksteal

test-all: $(STAMP) browser lint types  ## everything: every check on every mutant, further seeds, and what else takes long
	$(BIN)/pytest -n $(JOBS) --dist worksteal --everything

nightly: $(STAMP)  ## what is shipped, on a hundred seeds instead of two
	$(BIN)/pytest -n $(JOBS) --dist worksteal --everything --seeds=100 tests/test_shipped.py

# One right implementation of each kind, which must be CONFORMANT whatever is installed.
LOWEST = memory.FifoMemoryQueue redis.FifoRedisQueue bytequeues.FifoByteQueue collections.PriorityQueue pqueues.SlotPriorityQueue \
    scheduler.Scheduler dupefilter.DupeFilter state.SpiderState async_redis.RedisQueue async_scheduler.Scheduler

lowest: $(LOWEST_VENV)/.installed  ## whether the kit works with the lowest versions that pyproject.toml promises
	$(LOWEST_VENV)/bin/pytest -c docs/matrix/pyproject.toml --noconftest -p no:cacheprovider --conformance-examples=10 \
	    $(LOWEST:%=--conformance-only=queue_reference.%)

compat: $(STAMP)  ## what the kit uses of libraries that they do not promise, with their releases; LIBRARIES="scrapy" names some
	$(BIN)/python tests/compat.py $(LIBRARIES)

browser:  ## what the tests of pages look at them with; where it cannot be installed, these tests are skipped and say so
	@if { ! command -v chromium || ! command -v chromedriver; } >/dev/null 2>&1 && command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
	    echo "Installing chromium and chromium-driver, which the tests of pages need (120 MB) ..."; \
	    { apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends chromium chromium-driver; } \
	        >/dev/null 2>&1 </dev/null || echo "They cannot be installed; the tests of pages will be skipped."; \
	fi

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff check -q --preview --select DOC102 .  # what docstrings call arguments is what they are called
	$(BIN)/ruff format --check .
	$(BIN)/python tests/write_docstrings.py --check
	$(BIN)/lint-imports --no-cache
	@find queue_conformance reference docs examples -name '*.py' -exec wc -l {} + | \
	    awk '$$1 > 400 && $$2 != "total" { print $$2 ": " $$1 " lines, of at most 400"; long = 1 } END { exit long }'

types: $(STAMP)
	$(BIN)/mypy

parts: $(STAMP)  ## what checks, the kit and its pages hold of rules, mutants, options, records and results
	$(BIN)/python tests/write_docstrings.py
	$(BIN)/python tests/write_mutants.py
	$(BIN)/python docs/parts

docs: $(STAMP)  ## the documentation, in docs/_build/html
	$(BIN)/sphinx-build -E -W --keep-going -q docs docs/_build/html

pictures: $(STAMP)  ## the runs that the README shows
	$(BIN)/python docs/pictures.py

messages: $(STAMP)  ## every failure of every mutant as a terminal shows it, in build/messages.md; MUTANTS="disk PopHangs" runs only those again
	$(BIN)/python tests/messages.py $(MUTANTS)

matrix: $(STAMP)  ## test the released implementations again, for the conformance matrix of the documentation
	mkdir -p build
	-$(BIN)/pytest -c docs/matrix/pyproject.toml -p no:cacheprovider --tb=no --conformance --conformance-report=build/matrix.jsonl docs/matrix
	$(BIN)/python docs/matrix/condense.py build/matrix.jsonl docs/matrix/verdicts.json

releases: $(STAMP)  ## test releases of the libraries, each in an environment of its own; RELEASES="scrapy-2.1* --only=scrapy.pqueues.*" some
	$(BIN)/python docs/releases/build.py $(RELEASES)

upgrades: $(STAMP)  ## what one release makes of what another one has stored; LIBRARIES="scrapy steps" names some
	$(BIN)/python docs/upgrades/build.py $(LIBRARIES)

growth: $(STAMP)  ## measure what released classes cost as they grow; GROUPS="disk redis" names some
	$(BIN)/python docs/growth/build.py $(GROUPS)
	$(BIN)/python docs/parts

build: $(STAMP)  ## the wheel and the source distribution, in dist/
	$(BIN)/python -m build

benchmark: $(STAMP)  ## what an idle plugin, a run and an example cost, how that grows, and what a campaign finds
	for file in tests/benchmarks/*.py; do $(BIN)/python $$file; done

mutation: $(STAMP)  ## whether the kit notices changes of what it tests; see tests/mutation/README.md
	$(BIN)/python -m pip install --quiet --group mutation
	$(BIN)/python tests/mutation $(MUTATION_MODULES) --sample=$(MUTATION_SAMPLE) $(MUTATION_OPTIONS)

clean:
	rm -rf $(VENV) $(LOWEST_VENV) build dist docs/_build .mypy_cache .pytest_cache .ruff_cache

$(LOWEST_VENV)/.installed: pyproject.toml tests/lowest.py $(STAMP)
	$(PYTHON) -m venv $(LOWEST_VENV)
	$(LOWEST_VENV)/bin/python -m pip install --quiet $$($(BIN)/python tests/lowest.py)
	$(LOWEST_VENV)/bin/python -m pip install --quiet --no-deps --editable .
	touch $@

# Python compiles what it imports; pip would compile all that is installed, five times as much.
$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --no-compile --upgrade pip
	$(BIN)/python -m pip install --quiet --no-compile --editable ".[redis,postgresql,qcrawl,xdist]" --group dev --group docs
	$(BIN)/python -m pip install --quiet --no-compile --upgrade --target $(VENV)/pytest-lowest $$($(BIN)/python tests/lowest.py pytest)
	touch $(STAMP)
