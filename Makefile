# Two commands do all the set-up: `make demo` and `make test`.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin

.PHONY: demo test test-all lint docs benchmarks experiments clean

demo: $(VENV)/.cli
	$(BIN)/mercer demo

test: $(VENV)/.dev lint docs
	$(BIN)/python -m pytest

test-all: $(VENV)/.dev lint docs
	$(BIN)/python -m pytest -m "slow or not slow"

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(VENV)/.dev
	$(BIN)/sphinx-build -q -W --keep-going -d docs/_build/doctrees -b html docs docs/_build/html

benchmarks: $(VENV)/.dev
	$(BIN)/python -m benchmarks

experiments: $(VENV)/.dev
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[experiments]'
	$(BIN)/python -m experiments.kernel_conjugate_gradients
	$(BIN)/python -m experiments.distributed_nystroem
	$(BIN)/python -m experiments.distributed_random_features
	$(BIN)/python -m experiments.data_dependent_features
	$(BIN)/python -m experiments.distributed_ranking
	$(BIN)/python -m experiments.importance_labelling
	$(BIN)/python -m experiments.landmark_sampling
	$(BIN)/python -m experiments.learning_to_rank

$(VENV)/.python:
	$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(None if v >= (3, 11) else "Mercer needs Python 3.11 or newer, found %d.%d: try make PYTHON=python3.12" % v[:2])'
	$(PYTHON) -m venv $(VENV)
	touch $@

$(VENV)/.cli: $(VENV)/.python pyproject.toml
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[cli]'
	touch $@

$(VENV)/.dev: $(VENV)/.python pyproject.toml
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@ $(VENV)/.cli

clean:
	rm -rf $(VENV) docs/_build .pytest_cache .mypy_cache .ruff_cache
