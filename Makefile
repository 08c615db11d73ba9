# make demo: install into .venv and run the main job.  make test: install and run the tests.
PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/.installed

.PHONY: demo test test-all lint browser docs benchmark clean

demo: $(INSTALLED)
	$(BIN)/opengcn demo

test: lint browser
	$(BIN)/pytest -m "not slow"

test-all: lint browser
	$(BIN)/pytest

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Pages are tested in a real browser. Where there is none and it cannot be installed, they are not.
browser:
	@command -v chromium >/dev/null || { test "`id -u`" = 0 && apt-get update -qq && apt-get install -y -qq chromium; } >/dev/null 2>&1 || \
		echo "no Chromium here: tests of pages will be skipped"

docs: $(INSTALLED)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

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
