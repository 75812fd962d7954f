# Python 3.11 or later is enough for `make run`; `make test` and `make bench` also need a JDK 17 or later.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: setup run test check bench clean

setup: .venv/test.done
	$(BIN)/python -m tools.java

run: .venv/run.done
	$(BIN)/reassignd serve --backend embedded --data-dir ./.reassignd --demo-topics

test: setup check
	$(BIN)/python -m pytest tests/clients

check: .venv/test.done
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m protocol.generate --check
	$(BIN)/python -m tools.reference --check
	$(BIN)/python -m tools.draw_states --check
	$(BIN)/python -m pytest --ignore tests/clients

bench: setup
	$(BIN)/python -m bench

clean:
	rm -rf .venv .cache .reassignd .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis .coverage

.venv/run.done: requirements/run.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("reassignd needs Python 3.11 or later: make PYTHON=...")'
	$(PYTHON) -m venv .venv
	$(PIP) install --require-hashes -r requirements/run.txt
	$(PIP) install --no-deps --no-build-isolation --editable .
	touch $@

.venv/test.done: requirements/test.txt .venv/run.done
	$(PIP) install --require-hashes -r requirements/test.txt
	touch $@
