# Every target works on a fresh clone with make and Python >= 3.11: the virtual environment is created if it is missing,
# and updated when pyproject.toml or a lock file changes. To use another interpreter: make setup PYTHON=python3.13
# Packages come from the index that pip is configured with, and must have the hashes of requirements/*.txt.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
LIGHT  := $(VENV)/.runnable
SITE   := $(VENV)/.site
TOOLS  := $(VENV)/maintain
PIP    := -m pip --disable-pip-version-check --quiet
LOCKS  := $(addprefix requirements/,runtime.txt build.txt ci.txt maintain.txt site.txt)
COMPILE = $(TOOLS)/bin/uv pip compile --quiet --universal --python-version 3.11 --fork-strategy fewest \
  --generate-hashes --no-header --no-emit-index-url $(if $(UPGRADE),--upgrade)
BENCH  ?= decisions
WORKERS ?= 2
BINARIES := etcd kube-apiserver kube-scheduler kubectl helm
# The release of Kubernetes whose control plane is built and used, such as RELEASE=v1.34; default: the latest.
export STOWPLAN_RELEASE := $(RELEASE)

.DEFAULT_GOAL := help
.PHONY: help setup control-plane demo test soak check docs site picture browser screenshots frames bench parity dist image \
  manifests lock audit clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' Makefile

setup: $(STAMP)  ## create .venv with stowplan (editable) and the tools of tests and checks

control-plane: $(STAMP)  ## build etcd, kube-apiserver, kube-scheduler, kubectl and helm once, into ~/.cache; needs Go; RELEASE=v1.34
	$(BIN)/python -m stowplan.testing build $(or $(ARGS),$(BINARIES))

demo: $(LIGHT)  ## watch a scheduler fill a cluster, in under a minute; options in ARGS, e.g. ARGS="--speed 4"
	@$(BIN)/stowplan demo $(ARGS)
	@echo 'The same in a browser, forward and back:  make demo ARGS="--web --open"'

test: $(SITE)  ## run all tests, some files at a time (WORKERS); pytest options in ARGS, e.g. ARGS="tests/unit/cli -x"
	@$(BIN)/python -m stowplan.testing build --if-possible $(BINARIES)
	@$(BIN)/python -m tests.web.browser --if-possible
	$(BIN)/pytest -n $(WORKERS) --dist loadfile $(ARGS)

soak: $(STAMP)  ## run an hour of random faults and hostile tenants on a real API server; STOWPLAN_SOAK_MINUTES sets the time
	@$(BIN)/python -m stowplan.testing build
	$(BIN)/python -m tests.soak $(ARGS)

check: $(STAMP)  ## check formatting, lint, types, import layers and spelling
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/codespell

docs: $(STAMP)  ## update generated parts of the documentation, check links, run every block
	$(BIN)/python -m tests.docs
	$(BIN)/pytest tests/docs $(ARGS)

site: $(SITE)  ## build the documentation as a site with search, into site/
	$(BIN)/python -m tests.docs.site site
	STOWPLAN_SITE=site $(BIN)/pytest --quiet tests/docs/test_site.py
	@echo "To read it: $(BIN)/python -m http.server --bind 127.0.0.1 --directory site"

picture: $(STAMP)  ## redraw the picture of the demo on a terminal
	$(BIN)/python -m tests.docs picture

browser: $(STAMP)  ## install Chromium (with apt, as root) and axe-core (with npm) for the tests of the page
	$(BIN)/python -m tests.web.browser

screenshots: $(STAMP)  ## make the documentation's pictures of the page
	$(BIN)/python -m tests.web.browser screenshots

frames: $(STAMP)  ## measure frames while a map of 5,000 nodes and 50,000 pods is panned and zoomed
	$(BIN)/python -m tests.web.browser frames

bench: $(STAMP)  ## measure decisions; options in ARGS, e.g. ARGS=--json
	$(BIN)/stowplan bench $(BENCH) $(ARGS)

parity: $(STAMP)  ## compare outcomes with kube-scheduler on 200 random workloads, in half an hour; e.g. RELEASE=v1.34 ARGS="--workloads 5"
	@$(BIN)/python -m stowplan.testing build
	$(BIN)/python -m tests.parity $(ARGS)

dist: $(STAMP)  ## build the sdist, the wheel and its SBOM reproducibly into dist/
	rm -rf dist
	SOURCE_DATE_EPOCH=$${SOURCE_DATE_EPOCH:-$$(git log -1 --format=%ct 2>/dev/null || echo 1577836800)} \
	  $(BIN)/python -m hatchling build
	for wheel in dist/*.whl; do \
	  $(BIN)/python requirements/sbom.py requirements/runtime.txt $$wheel > $${wheel%-py3-none-any.whl}.cdx.json; done

image:  ## build the container image stowplan with docker, or with the command in DOCKER
	$(or $(DOCKER),docker) build -f deploy/Dockerfile -t stowplan .

# The chart and the Kustomize base cannot read files outside their folders, so they have copies.
manifests: $(STAMP)  ## update generated files of deploy/: copies of the roles, the dashboard
	cp deploy/rbac.yaml deploy/kustomize/base/
	cp deploy/rbac.yaml deploy/rbac-extender.yaml deploy/rbac-optional-plugins.yaml deploy/chart/files/
	$(BIN)/python deploy/grafana/dashboard.py > deploy/grafana/stowplan.json
	cp deploy/grafana/stowplan.json deploy/chart/files/dashboard.json

lock: $(TOOLS)  ## update the lock files after a change of pyproject.toml; UPGRADE=1 takes the latest versions
	$(COMPILE) pyproject.toml -o requirements/runtime.txt
	$(COMPILE) pyproject.toml --extra test --extra lint -c requirements/runtime.txt -o requirements/ci.txt
	$(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"])' | \
	  $(COMPILE) - -c requirements/ci.txt -o requirements/build.txt
	$(COMPILE) --group maintain -c requirements/ci.txt -o requirements/maintain.txt
	$(COMPILE) --group site -c requirements/ci.txt -c requirements/maintain.txt -o requirements/site.txt

audit: $(TOOLS)  ## look up known vulnerabilities of all locked packages
	$(TOOLS)/bin/pip-audit --strict --disable-pip --require-hashes --progress-spinner off $(addprefix -r ,$(LOCKS))

clean:  ## remove .venv, caches and build results
	rm -rf $(VENV) dist site .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

$(STAMP): INSTALLED := -r requirements/ci.txt
$(LIGHT): INSTALLED := -r requirements/runtime.txt -r requirements/build.txt
$(STAMP) $(LIGHT): pyproject.toml $(LOCKS)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "stowplan needs Python 3.11 or newer; '$(PYTHON) --version' prints: $$($(PYTHON) --version 2>&1 | head -n 1)"; \
	  echo "Use another interpreter: make setup PYTHON=python3.12"; exit 1; } >&2
	@test -x $(BIN)/python || { echo "creating $(VENV)"; $(PYTHON) -m venv $(VENV); }
	@echo "installing stowplan with$(subst -r requirements/, ,$(INSTALLED)) into $(VENV)"
	@$(BIN)/python $(PIP) install --require-hashes $(INSTALLED)
	@$(BIN)/python $(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@ $(LIGHT)

$(SITE): $(STAMP) requirements/site.txt
	@$(BIN)/python $(PIP) install --require-hashes -r requirements/site.txt
	@touch $@

$(TOOLS): $(LIGHT) requirements/maintain.txt
	@$(PYTHON) -m venv $@
	@$@/bin/python $(PIP) install --require-hashes -r requirements/maintain.txt
	@touch $@
