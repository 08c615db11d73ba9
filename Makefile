# make demo: install into .venv and run the main job.  make test: install and run the tests.
PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/.installed

.PHONY: demo test test-all lint benchmark clean

demo: $(INSTALLED)
	$(BIN)/opengcn demo

test: lint
	$(BIN)/pytest -m "not slow"

test-all: lint
	$(BIN)/pytest

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

benchmark: $(INSTALLED)
	$(BIN)/python benchmarks/exact_curve.py

$(INSTALLED): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "expected Python 3.11 or later, received `$(PYTHON) --version`; try make PYTHON=python3.11"; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	@touch $@

clean:
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache
