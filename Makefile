# Every target does its own set-up: a .venv in the checkout with exactly the files that the lock files name by hash.
#
# Three lock files, all written by `make lock` from pyproject.toml and never by hand:
#   requirements.lock          what kubesched needs to run (the image installs this)
#   requirements-dev.lock      the same versions, all extras, and what its developers need (`make setup` installs this)
#   requirements-release.lock  what builds a wheel and its bill of materials (`make wheel`, in a .venv of its own)
# To add a dependency: name it in pyproject.toml, say why in docs/design/0002-dependencies.md, run `make lock setup`, and
# commit the lock files with it. Versions stay as they are unless they have to change; `make lock UPGRADE=--upgrade`
# takes the newest ones, and `UPGRADE="--upgrade-package numpy"` that of one package.
PYTHON ?= python3
BIN := .venv/bin
# Tests wait as often as they compute: one process more than there are cores.
WORKERS ?= $(shell echo $$(($$(nproc 2>/dev/null || echo 1) + 1)))

# The control plane of tests/e2e, whose stories about pod groups speak of 1.36's API; contract and random clusters: 1.37.
E2E_VERSION ?= 1.36

RELEASE := .venv-release/bin
PIP_INSTALL := -m pip install --quiet --disable-pip-version-check
COMPILE = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes $(UPGRADE) \
	--custom-compile-command "make lock"

.PHONY: setup run test quick lint check bench compare e2e format fuzz lock wheel clean
.DEFAULT_GOAL := test

setup: .venv/.ready ## create .venv with the locked versions and the kubesched command

.venv/.ready: requirements-dev.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and f"kubesched needs Python 3.11 or newer, and $(PYTHON) is " \
		f"{sys.version.split()[0]}: make PYTHON=python3.12 ...")'
	@echo "Installing into .venv, once: this may take some minutes"
	@echo "  1 of 3: a Python environment ..."
	@$(PYTHON) -m venv .venv
	@echo "  2 of 3: the packages of requirements-dev.lock ..."
	@$(BIN)/python $(PIP_INSTALL) --require-hashes -r requirements-dev.lock
	@echo "  3 of 3: the kubesched command ..."
	@$(BIN)/python $(PIP_INSTALL) --no-deps --no-build-isolation -e .
	@touch $@
	@echo "Installed. In other terminals: source .venv/bin/activate"

run: setup ## start the embedded cluster with a demo
	$(BIN)/kubesched up --demo web

test: setup ## all tests that need no real cluster
	$(BIN)/python -m pytest -m "not e2e" -n $(WORKERS)

quick: setup ## the tests that what you changed needs, within half a minute; or of packages: IN="scheduler/engine client"
	$(BIN)/ruff check .
	$(BIN)/python tools/quick.py $(IN)

lint: setup ## format, lint, types, import direction
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

check: lint ## what CI runs first: lint, and all tests that need no real cluster, with coverage
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -m "not e2e" -n $(WORKERS)
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report --fail-under=80 --skip-covered --sort=cover

format: setup
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

fuzz: setup ## nearly right requests to the embedded cluster; FUZZ_SECONDS=600 FUZZ_SEED=7 for longer and for others
	FUZZ_SECONDS=$${FUZZ_SECONDS:-60} $(BIN)/python -m pytest -s tests/fuzz

bench: setup ## benchmarks: throughput and cost per stage, and the embedded API server's
	$(BIN)/kubesched bench --config benchmarks --label standard
	$(BIN)/python benchmarks/api_server.py

compare: setup ## beside kube-scheduler, on a real etcd and kube-apiserver: half an hour
	$(BIN)/python benchmarks/compare.py --rounds 3

e2e: setup ## against a real etcd and kube-apiserver; built by name where Go is there, skipped where they cannot be had
	-$(BIN)/python tools/controlplane/install.py
	-KUBESCHED_CONTROL_PLANE=$(E2E_VERSION) $(BIN)/python tools/controlplane/install.py
	$(BIN)/python -m pytest -m e2e tests/contract tests/differential -rs
	KUBESCHED_CONTROL_PLANE=$(E2E_VERSION) $(BIN)/python -m pytest -m e2e tests/e2e -rs

lock: $(BIN)/uv ## write the lock files from pyproject.toml
	$(COMPILE) pyproject.toml --output-file requirements.lock
	$(COMPILE) pyproject.toml --all-extras --constraint requirements.lock --output-file requirements-dev.lock
	$(COMPILE) --group release --output-file requirements-release.lock

$(BIN)/uv:
	$(MAKE) setup

wheel: .venv-release/.ready ## the wheel and its bill of materials (CycloneDX), in dist/
	rm -rf dist
	$(RELEASE)/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .
	PYTHONWARNINGS=ignore $(RELEASE)/cyclonedx-py requirements requirements.lock --pyproject pyproject.toml --mc-type application \
		--output-reproducible --output-format JSON --output-file dist/$$(basename dist/*.whl .whl).cdx.json

.venv-release/.ready: requirements-release.lock
	$(PYTHON) -m venv .venv-release
	$(RELEASE)/python $(PIP_INSTALL) --require-hashes -r requirements-release.lock
	touch $@

clean:
	rm -rf .venv .venv-release .mypy_cache .pytest_cache .ruff_cache .hypothesis .coverage build dist
