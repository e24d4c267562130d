# Every target does its own set-up: a .venv in the checkout with exactly the files that the lock files name by hash.
#
# Five lock files, all written by `make lock` from pyproject.toml and never by hand:
#   requirements.lock          what kubesched needs to run (the image installs this)
#   requirements-dev.lock      the same versions, all extras, and what its developers need (`make setup` installs this)
#   requirements-release.lock  what builds a wheel and its bill of materials (`make wheel`, in a .venv of its own)
#   requirements-browser.lock  what drives a browser (`make browser-test`)
#   requirements-docs.lock     what makes the documentation site (`make docs`)
# To add a dependency: name it in pyproject.toml, say why in docs/design/0002-dependencies.md, run `make lock setup`, and
# commit the lock files with it. Versions stay as they are unless they have to change; `make lock UPGRADE=--upgrade`
# takes the newest ones, and `UPGRADE="--upgrade-package numpy"` that of one package.
PYTHON ?= python3
BIN := .venv/bin
# Tests wait as often as they compute: one process more than there are cores.
WORKERS ?= $(shell echo $$(($$(nproc 2>/dev/null || echo 1) + 1)))

# The control plane of all of them; make e2e E2E_VERSION=1.36 for the version before.
E2E_VERSION ?= 1.37

RELEASE := .venv-release/bin
PIP_INSTALL := -m pip install --quiet --disable-pip-version-check
COMPILE = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes $(UPGRADE) \
	--custom-compile-command "make lock"

HELM_VERSION := v3.19.0

.PHONY: setup run test quick lint check bench atc23 compare e2e format fuzz simulate lock wheel dist clean browser-test pictures docs helm
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
	$(BIN)/python -m pytest -m "not e2e and not browser" -n $(WORKERS)

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
	$(BIN)/coverage run -m pytest -m "not e2e and not browser" -n $(WORKERS)
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report --fail-under=80 --skip-covered --sort=cover

format: setup
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

docs: .venv/.docs ## the documentation site, into site/; broken links fail
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

.venv/.docs: .venv/.ready requirements-docs.lock
	$(BIN)/python $(PIP_INSTALL) --require-hashes -r requirements-docs.lock
	@touch $@

helm: ## the real helm, for tests of deploy/helm; built by name where Go is there
	@test -x $(HOME)/.cache/kubesched/helm/helm || GOBIN=$(HOME)/.cache/kubesched/helm go install helm.sh/helm/v3/cmd/helm@$(HELM_VERSION)

fuzz: setup ## nearly right requests to the embedded cluster; FUZZ_SECONDS=600 FUZZ_SEED=7 for longer and for others
	FUZZ_SECONDS=$${FUZZ_SECONDS:-60} $(BIN)/python -m pytest -s tests/fuzz

simulate: setup ## the whole system in virtual time with faults, from seeds: SEEDS=1000 FIRST=0
	$(BIN)/python -m tests.world --seeds $(or $(SEEDS),1000) --first $(or $(FIRST),0)

bench: setup ## benchmarks: throughput and cost per stage, and the embedded API server's
	$(BIN)/kubesched bench --config benchmarks --label standard
	$(BIN)/python benchmarks/api_server.py

atc23: setup ## the evaluation of "Beware of Fragmentation" (docs/experiments.md): DATA=folder, RUN="--seeds 1" for less
	$(BIN)/python examples/experiments/atc23.py $(DATA) $(RUN)

compare: setup ## beside kube-scheduler, on a real etcd and kube-apiserver: half an hour
	$(BIN)/python benchmarks/compare.py --rounds 3

e2e: setup ## against a real etcd and kube-apiserver; built by name where Go is there, skipped where they cannot be had
	-KUBESCHED_CONTROL_PLANE=$(E2E_VERSION) $(BIN)/python tools/controlplane/install.py
	KUBESCHED_CONTROL_PLANE=$(E2E_VERSION) $(BIN)/python -m pytest -m e2e tests/contract tests/differential tests/e2e -rs

browser-test: .venv/.browser ## the page in a real browser; skipped where chromium cannot be had
	$(BIN)/python -m pytest -m browser tests/browser -rs

pictures: .venv/.browser ## write the screenshots of docs/pictures
	KUBESCHED_PICTURES=docs/pictures $(BIN)/python -m pytest -m browser tests/browser/test_pictures.py -rs

.venv/.browser: .venv/.ready requirements-browser.lock
	-$(BIN)/python $(PIP_INSTALL) --require-hashes -r requirements-browser.lock
	-$(BIN)/python tools/install_chromium.py
	@touch $@

lock: $(BIN)/uv ## write the lock files from pyproject.toml
	$(COMPILE) pyproject.toml --output-file requirements.lock
	$(COMPILE) pyproject.toml --all-extras --constraint requirements.lock --output-file requirements-dev.lock
	$(COMPILE) --group release --output-file requirements-release.lock
	$(COMPILE) --group browser --output-file requirements-browser.lock
	$(COMPILE) --group docs --output-file requirements-docs.lock

$(BIN)/uv:
	$(MAKE) setup

wheel: .venv-release/.ready ## the wheel and its bill of materials (CycloneDX), in dist/
	rm -rf dist
	$(RELEASE)/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .
	PYTHONWARNINGS=ignore $(RELEASE)/cyclonedx-py requirements requirements.lock --pyproject pyproject.toml --mc-type application \
		--output-reproducible --output-format JSON --output-file dist/$$(basename dist/*.whl .whl).cdx.json

dist: wheel ## wheel and sdist, each installed into an empty environment and tried
	$(RELEASE)/python -m hatchling build --target sdist --directory dist
	for package in dist/*.whl dist/*.tar.gz; do \
		rm -rf .venv-dist && $(PYTHON) -m venv .venv-dist && \
		.venv-dist/bin/python $(PIP_INSTALL) --constraint requirements.lock $$package && \
		.venv-dist/bin/kubesched --version && .venv-dist/bin/kubesched doctor --help > /dev/null && \
		.venv-dist/bin/python -c 'import kubesched, kubesched.framework, kubesched.testing' || exit 1; \
	done; rm -rf .venv-dist

.venv-release/.ready: requirements-release.lock
	$(PYTHON) -m venv .venv-release
	$(RELEASE)/python $(PIP_INSTALL) --require-hashes -r requirements-release.lock
	touch $@

clean:
	rm -rf .venv .venv-release .mypy_cache .pytest_cache .ruff_cache .hypothesis .coverage build dist
