# Needed: git, make, Python 3.10 to 3.13, Java 17 or newer. Everything else is set up in .venv.

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-quick test-all golden-rewrite check bench bench-shapes bench-large bench-postgresql bench-compare docs lock clean

help: ## List the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "  make %-16s %s\n", $$1, $$2 }'

setup: ## Make .venv, install the locked packages, fetch the Delta Lake jars (others do it by themselves)
	@$(PYTHON) tools/setup.py

$(READY): requirements.lock pyproject.toml tools/setup.py src/rollview/spark/jars.sha256
	@$(PYTHON) tools/setup.py

demo: $(READY) ## Show rollview at work on a small warehouse
	$(BIN)/rollview demo

test: test-quick ## Run the tests, without the slow ones (about 9 minutes on two cores)
	$(BIN)/pytest -n auto -m "(server or histories) and not spark and not slow"
	$(BIN)/pytest -n 2 --dist loadfile -m "spark and not slow"

test-quick: $(READY) ## Run those that need neither Java nor PostgreSQL (under a minute)
	$(BIN)/pytest -n auto -m "not spark and not server and not histories and not slow"

test-all: $(READY) ## Run every test, with more random examples
	ROLLVIEW_EXAMPLES=5 $(BIN)/pytest -n auto -m "not spark"
	ROLLVIEW_COMPILED=1 $(BIN)/pytest --ignore tests/golden -m "spark"
	ROLLVIEW_LONG=1 $(BIN)/pytest -n 2 tests/golden -m "spark"

golden-rewrite: $(READY) ## Write into tests/golden what is right there now; then read the diff
	$(BIN)/python tests/golden/rewrite.py
	$(BIN)/python tools/docs.py

check: $(READY) ## Check style, types and the direction of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict src
	$(BIN)/lint-imports

bench: $(READY) ## Measure, write bench/results and docs/performance.md
	$(BIN)/python -m bench all --vectors both --save
	$(BIN)/python -m bench report

bench-shapes: $(READY) ## Measure what SQL has besides select-joins and sums, and write the same
	$(BIN)/python -m bench shapes --save
	$(BIN)/python -m bench report

bench-large: $(READY) ## Measure every cell of the star, and 30 and 100 million rows (hours)
	$(BIN)/python -m bench star --large --vectors both --rows 1_000_000 10_000_000 --save
	$(BIN)/python -m bench star --vectors both --rows 30_000_000 100_000_000 --save
	$(BIN)/python -m bench report

bench-postgresql: $(READY) ## Measure a live PostgreSQL database of 10 million rows, and write the same
	$(BIN)/python -m bench postgresql --save
	$(BIN)/python -m bench report

bench-compare: ## Print what changed in bench/results since the last commit
	@$(BIN)/python -m bench compare

docs: $(READY) ## Write docs/reference.md and docs/sql.md, and check the links
	$(BIN)/python tools/docs.py

# LOCK=--upgrade takes the newest versions within the bounds of pyproject.toml.
lock: ## Write requirements.lock anew from pyproject.toml (LOCK=--upgrade for newer versions)
	@$(PYTHON) -m venv build/lock
	@build/lock/bin/pip --disable-pip-version-check install --quiet 'uv>=0.13,<0.14'
	build/lock/bin/uv pip compile --quiet --universal --python-version 3.10 --generate-hashes \
		--extra dev --custom-compile-command "make lock" --output-file requirements.lock \
		$(LOCK) pyproject.toml

clean: ## Remove what the other targets made, except the cache of jars
	rm -rf .venv build dist src/*.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
	rm -rf .import_linter_cache spark-warehouse metastore_db derby.log
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
