# Every verb works on a fresh clone with make and Python >= 3.11 alone: the virtual environment is made when it is missing,
# and brought up to date when pyproject.toml changes. Another interpreter: make setup PYTHON=python3.13

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
BENCH  ?= decisions

.DEFAULT_GOAL := help
.PHONY: help setup test check bench clean

help:  ## list the verbs
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-7s %s\n", $$1, $$2 }' Makefile

setup: $(STAMP)  ## make .venv with stowplan (editable), the tests' and the linters' tools

test: $(STAMP)  ## run all tests; pytest options in ARGS, e.g. ARGS="tests/unit/cli -x"
	$(BIN)/pytest $(ARGS)

check: $(STAMP)  ## formatting, lint, types, import levels, spelling
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/codespell

bench: $(STAMP)  ## measure decisions; options in ARGS, e.g. ARGS=--json
	$(BIN)/stowplan bench $(BENCH) $(ARGS)

clean:  ## remove .venv, caches and build results
	rm -rf $(VENV) dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "stowplan needs Python 3.11 or newer; '$(PYTHON) --version' says: $$($(PYTHON) --version 2>&1 | head -n 1)"; \
	  echo "Name another interpreter: make setup PYTHON=python3.12"; exit 1; } >&2
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test,lint]'
	@touch $(STAMP)
