# Every verb works on a fresh clone with make and Python >= 3.11 alone: the virtual environment is made when it is missing,
# and brought up to date when pyproject.toml changes. Another interpreter: make setup PYTHON=python3.13

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
LIGHT  := $(VENV)/.runnable
BENCH  ?= decisions

.DEFAULT_GOAL := help
.PHONY: help setup control-plane demo test soak check bench parity clean

help:  ## list the verbs
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' Makefile

setup: $(STAMP)  ## make .venv with stowplan (editable), the tests' and the linters' tools

control-plane: $(STAMP)  ## build etcd, kube-apiserver and kube-scheduler for the e2e tests, once, into ~/.cache; needs Go
	$(BIN)/python -m stowplan.testing build $(ARGS)

demo: $(LIGHT)  ## watch a scheduler fill a cluster, in under a minute; options in ARGS, e.g. ARGS="--speed 4"
	@$(BIN)/stowplan demo $(ARGS)

test: $(STAMP)  ## run all tests; pytest options in ARGS, e.g. ARGS="tests/unit/cli -x"
	@$(BIN)/python -m stowplan.testing build --if-possible
	$(BIN)/pytest $(ARGS)

soak: $(STAMP)  ## an hour of random faults on a real API server; STOWPLAN_SOAK_MINUTES for less or more
	@$(BIN)/python -m stowplan.testing build
	$(BIN)/python -m tests.soak $(ARGS)

check: $(STAMP)  ## formatting, lint, types, import levels, spelling
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/codespell

bench: $(STAMP)  ## measure decisions; options in ARGS, e.g. ARGS=--json
	$(BIN)/stowplan bench $(BENCH) $(ARGS)

parity: $(STAMP)  ## compare outcomes with kube-scheduler's on 200 random workloads, half an hour; e.g. ARGS="--workloads 5"
	@$(BIN)/python -m stowplan.testing build
	$(BIN)/python -m tests.parity $(ARGS)

clean:  ## remove .venv, caches and build results
	rm -rf $(VENV) dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

$(STAMP): EXTRAS := [test,lint]
$(STAMP) $(LIGHT): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "stowplan needs Python 3.11 or newer; '$(PYTHON) --version' says: $$($(PYTHON) --version 2>&1 | head -n 1)"; \
	  echo "Name another interpreter: make setup PYTHON=python3.12"; exit 1; } >&2
	@test -x $(BIN)/python || { echo "making $(VENV)"; $(PYTHON) -m venv $(VENV); }
	@echo "installing stowplan$(EXTRAS) into $(VENV)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.$(EXTRAS)'
	@touch $@ $(LIGHT)
