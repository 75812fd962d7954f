# Python 3.11 or later is enough for `make run`, `make check` and `make unit`; `make test`, `make test-all` and `make bench` also
# need a JDK 17 or later.
PYTHON ?= python3
# More for the server that `make run` starts: make run ARGS='--listener 127.0.0.1:19092 --http 127.0.0.1:19080'
ARGS ?=
# make run SPARK=1: with Spark, which needs a JDK 17 or later, for plans of 100 partitions and more
SPARK ?=
DIST_ARGS ?=
BIN := .venv/bin
SITE := $(BIN)/sphinx-build --quiet --fail-on-warning --conf-dir docs --doctree-dir build/doctrees . build/site
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
# The lock files name all packages. With dependencies, pip may choose a newer version of one that is required with extras.
WITH_SPARK := --override planner.spark.warm=true --override planner.spark.min.partitions=100
LOCKED := --no-deps --require-hashes -r

# The tests start hundreds of processes, each of which would compile all modules again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: test unit check test-all dev setup run reset docs bench dist clean

# An answer in ten minutes: static checks, unit tests, the contract of all backends, a real Spark, and a tour of each mode.
test: .venv/test.done
	$(BIN)/python -m tools.suite test

unit: .venv/test.done
	$(BIN)/python -m tools.suite unit --beside 1

# The static checks.
check: .venv/test.done
	$(BIN)/python -m tools.suite static

test-all: .venv/test.done
	$(BIN)/python -m tools.suite all --beside 1

# What single tests need: .venv/bin/python -m pytest tests/controller/reassignment -k original_order
dev: .venv/test.done

setup: .venv/all.done
	$(BIN)/python -m tools.java
	$(BIN)/python -m tools.other_clients
	$(BIN)/python -m tools.kubernetes

run: .venv/run.done $(if $(SPARK),.venv/spark.done)
	$(BIN)/reassignd serve --backend embedded --data-dir ./.reassignd --demo-topics $(if $(SPARK),$(WITH_SPARK)) $(ARGS)

reset:
	@test ! -e ./.reassignd/lock || flock --nonblock ./.reassignd/lock true || { echo "./.reassignd is in use: stop the server first" >&2; exit 1; }
	rm -rf ./.reassignd

# The documentation as a site: build/site/index.html
docs: .venv/test.done
	$(SITE)

bench: setup
	$(BIN)/python -m bench

# More for the build of a release: make dist DIST_ARGS=--image
dist: .venv/dist.done
	$(BIN)/python -m tools.dist $(DIST_ARGS)

clean:
	rm -rf .venv .cache .reassignd .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis .coverage* build

.venv/run.done: requirements/run.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("reassignd needs Python 3.11 or later: make PYTHON=...")'
	$(PYTHON) -m venv .venv
	$(PIP) install $(LOCKED) requirements/run.txt
	$(PIP) install --no-deps --no-build-isolation --editable .
	touch $@

.venv/spark.done: requirements/image-spark.txt .venv/run.done
	$(PIP) install $(LOCKED) requirements/image-spark.txt
	touch $@

# The tests build a release, too.
.venv/test.done: requirements/test.txt .venv/dist.done
	$(PIP) install $(LOCKED) requirements/test.txt
	touch $@

.venv/tours.done: requirements/tours.txt .venv/test.done
	$(PIP) install $(LOCKED) requirements/tours.txt
	touch $@

.venv/all.done: requirements/all.txt .venv/tours.done
	$(PIP) install $(LOCKED) requirements/all.txt
	touch $@

.venv/dist.done: requirements/dist.txt .venv/run.done
	$(PIP) install $(LOCKED) requirements/dist.txt
	touch $@
