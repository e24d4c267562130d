# Every target does its own set-up: a .venv in the checkout with the tested versions of requirements.lock.
PYTHON ?= python3
BIN := .venv/bin
# Tests wait as often as they compute: one process more than there are cores.
WORKERS ?= $(shell echo $$(($$(nproc 2>/dev/null || echo 1) + 1)))

.PHONY: setup run test quick lint check bench compare e2e format lock clean
.DEFAULT_GOAL := test

setup: .venv/.ready ## create .venv with the locked versions and the kubesched command

.venv/.ready: requirements.lock pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $@

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

bench: setup ## benchmarks: throughput and cost per stage, and the embedded API server's
	$(BIN)/kubesched bench --config benchmarks --label standard
	$(BIN)/python benchmarks/api_server.py

compare: setup ## beside kube-scheduler, on a real etcd and kube-apiserver: half an hour
	$(BIN)/python benchmarks/compare.py --rounds 3

e2e: setup ## against a real etcd and kube-apiserver; built by name where Go is there, skipped where they cannot be had
	-$(BIN)/python tools/controlplane/install.py
	$(BIN)/python -m pytest -m e2e tests/e2e tests/contract tests/differential -rs

lock: setup ## write requirements.lock anew from what is installed
	$(BIN)/python -m pip freeze --exclude-editable > requirements.lock

clean:
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis .coverage build dist
