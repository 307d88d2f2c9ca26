# Two commands do all the set-up: `make demo` and `make test`.
VENV ?= .venv

# Windows names the interpreter, and the folder of a virtual environment's commands, differently.
ifeq ($(OS),Windows_NT)
PYTHON ?= python
BIN    := $(VENV)/Scripts
else
PYTHON ?= python3
BIN    := $(VENV)/bin
endif
# How long make fuzz attacks, and how many faults make chaos tries. Unless a time is given, it goes on
# until each attack was tried so often: 170 of each of twelve kinds of tables are 2,040 tables.
ROUNDS  ?= $(if $(filter undefined,$(origin SECONDS)),170,0)
ROUNDS  := $(ROUNDS)
SECONDS ?= 1800
TRIALS  ?= 50
EXPERIMENTS := alpha_choice kernel_conjugate_gradients distributed_random_features data_dependent_features \
	distributed_ranking importance_labelling landmark_sampling learning_to_rank planning uncertainty

# The suite, in a process more than there are cores (tests/conftest.py); the examples of the documentation are among its tests.
SUITE := $(BIN)/python -m pytest -n logical --dist worksteal

.PHONY: demo test test-all test-real test-core test-release fuzz chaos lint docs benchmarks experiments clean

demo: $(VENV)/.cli
	$(BIN)/mercer demo

# mypy and Sphinx have one process each, and run beside each other.
test: $(VENV)/.dev
	$(MAKE) -j 2 lint docs
	$(SUITE)

test-all: $(VENV)/.dev
	$(MAKE) -j 2 lint docs
	$(SUITE) -m "slow or not slow"

# What needs the data sets of the folder MERCER_DATA; all other tests run without them.
test-real: $(VENV)/.dev
	$(SUITE) -m real

# What could differ between systems: numbers, files, processes.
test-core: $(VENV)/.dev
	$(BIN)/python -m pytest tests/bases tests/kernels tests/moments tests/solvers tests/models tests/storage tests/rows tests/engines

test-release: $(VENV)/.dev
	$(BIN)/python -m pytest -m "slow or not slow" tests/release

fuzz: $(VENV)/.dev
	$(BIN)/python -m tests.attacks --seconds $(SECONDS) --rounds $(ROUNDS)

chaos: $(VENV)/.dev
	$(BIN)/python -m tests.attacks.chaos --trials $(TRIALS)

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
	for name in $(EXPERIMENTS); do $(BIN)/python -m experiments.$$name || exit 1; done
	$(BIN)/python -m experiments.distributed_nystroem --resume

$(VENV)/.python:
	$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(None if v >= (3, 11) else "Mercer needs Python 3.11 or newer, found %d.%d: try make PYTHON=python3.12" % v[:2])'
	$(PYTHON) -m venv $(VENV)
	touch $@

# What decides the metadata of the installed package, its version among them.
METADATA := pyproject.toml hatch_build.py src/mercer/version.py

$(VENV)/.cli: $(VENV)/.python $(METADATA)
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[cli]'
	touch $@

$(VENV)/.dev: $(VENV)/.python $(METADATA)
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@ $(VENV)/.cli

clean:
	rm -rf $(VENV) docs/_build .pytest_cache .mypy_cache .ruff_cache
