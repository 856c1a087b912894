# make help lists what there is. Everything happens in .venv, which the first target that needs it creates.
SHELL := /bin/bash
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: help environment book slides pdf test lint bench data reference clean
.DEFAULT_GOAL := help

help: ## list the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /  make \1\t/' | expand -t 20

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11))" || { echo "Python 3.11 or newer is needed. Install it, or name one: make PYTHON=path/to/python3" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ".[book,dev]"
	touch $@

environment: $(STAMP) ## make the environment, which the other targets do by themselves

book: $(STAMP) ## run the notebooks that are stale, build the book, print the path of its first page
	$(BIN)/verite book

slides: $(STAMP) ## build the slides of the lectures from the figures of the notebooks
	$(BIN)/verite slides

pdf: $(STAMP) ## print the whole book into one PDF; needs Chromium
	$(BIN)/verite pdf

test: $(STAMP) ## run the tests, the notebooks and the book among them
	# Threads of two test processes and the notebooks they run would wait for each other: some tests then take twenty times as long.
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses 2 --dist loadfile

lint: $(STAMP) ## check style, types and who imports whom
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python .ci/notebooks.py
	$(BIN)/lint-imports
	$(BIN)/mypy

bench: $(STAMP) ## measure speed and memory, as ratios within one run
	for one in benchmarks/*.py; do $(BIN)/python "$$one" || exit 1; done

data: $(STAMP) ## download VERITE and say what else there is
	$(BIN)/verite data fetch verite
	$(BIN)/verite data status

reference: $(STAMP) ## run the chapters on the real data at full size and keep their results in book/reference/
	$(BIN)/verite reference

clean: ## remove the environment and everything that was made
	rm -rf $(VENV) _build notebooks/executed book/generated verite-runs build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
