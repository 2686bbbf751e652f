# Two commands from a fresh clone: `make figure` and `make test`. Needs GNU make, Python 3.11 or newer, and a package registry.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help install figure overnight test lint style types suite unit browser test-gpu gallery docs lab clean

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# Written last, so that it stands for a finished installation and nothing less.
READY  := $(VENV)/.ready
# Present while pip is at work. Finding it means that an earlier installation was cut short, so that one starts over.
BUSY   := $(VENV)/.installing

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

install: $(READY)  ## create .venv and install the lab with pinned dependencies
	@echo "The lab is installed in $(VENV); its command is $(BIN)/lab"

figure: $(READY)  ## train what Figure 11 of the simplicity paper needs, and draw it
	$(BIN)/lab figure simplicity/fig11

# SCALE=overnight or paper, HOURS=10; it goes on from where it stopped
overnight: $(READY)  ## train every figure for a night, those first whose open claims cost least
	nice -n 19 $(BIN)/lab train-all --scale $(or $(SCALE),overnight) --hours $(or $(HOURS),10)

# One after the other, since two would fight for the processors; all of them, whatever became of the one before.
test: $(READY)  ## lint, then run every test (browser tests need Chromium); fails if any part does
	@$(MAKE) --no-print-directory --keep-going --jobs=1 lint suite

lint: style types  ## look for what ruff and mypy find

style: $(READY)
	$(BIN)/ruff check .

types: $(READY)
	$(BIN)/python -m mypy

# A file's tests share what they have trained, so a worker takes files, in the order in which tests/conftest.py puts them.
# PYTEST: further arguments, as in make unit PYTEST="-m numerical"
TESTS = $(BIN)/python -m pytest --numprocesses logical --maxprocesses 4 --dist loadfile --no-loadscope-reorder $(PYTEST)

suite: $(READY)  ## run every test; those of the browser wait much, and others use that time
	$(TESTS)

unit: $(READY)  ## run every test but those of the browser
	$(TESTS) --ignore tests/browser

browser: $(READY)  ## run the browser tests (they need Chromium)
	$(TESTS) tests/browser

test-gpu: $(READY)  ## run the tests of what depends on the device: on a GPU, where there is one
	$(BIN)/python -m pytest tests/test_device.py tests/test_gpu_batch.py tests/nonlinearity/test_gpu.py $(PYTEST)

docs: $(READY)  ## write an API reference into out/docs: open its index.html
	$(BIN)/python -m pdoc lab lab.probes lab.tasks --docformat google -o out/docs

gallery: $(READY)  ## write the results as a site into out/gallery: open its index.html
	$(BIN)/lab gallery

lab: $(READY)  ## open JupyterLab on the first notebook
	$(BIN)/jupyter lab notebooks/00_start_here.ipynb

clean:  ## remove .venv; what you trained stays
	rm -rf $(VENV)

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "The lab needs Python 3.11 or newer, and '$(PYTHON)' is $$($(PYTHON) --version 2>/dev/null || echo missing)." \
	       "Install one and name it: make PYTHON=python3.12 ..." >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "$(PYTHON) lacks venv or ensurepip; on Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }
	@if [ -e $(BUSY) ]; then echo "An earlier installation did not finish; starting over."; rm -rf $(VENV); fi
	@rm -f $(READY); mkdir -p $(VENV); touch $(BUSY)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --disable-pip-version-check --constraint constraints.txt --editable '.[dev,export]'
	@rm $(BUSY)
	@touch $(READY)
