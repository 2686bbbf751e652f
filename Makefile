# From a fresh clone: `make lab`, `make figure`, `make gallery`, `make test`. Needs GNU make, Python 3.11 or newer, and a package registry.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help install figure overnight test lint style types suite unit browser test-gpu gallery docs lab clean

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# Written last, so that they stand for a finished installation and nothing less: of the lab, and of what its tests need.
READY  := $(VENV)/.ready
TESTED := $(VENV)/.ready-dev
# Present while pip is at work. Finding it means that an earlier installation was cut short, so that one starts over.
BUSY   := $(VENV)/.installing
# uv installs faster. It does not read pip's settings, so it is told where pip finds wheels. Neither compiles what it installs:
# Python does so where a module is first imported, and most never are. Where it is told not to keep that, both compile.
KEEPS  := $(if $(PYTHONDONTWRITEBYTECODE),,yes)
UV     := $(shell command -v uv)
PIP    := $(if $(UV),UV_FIND_LINKS="$${UV_FIND_LINKS-$$PIP_FIND_LINKS}" uv pip install $(if $(KEEPS),,--compile-bytecode) --python $(BIN)/python,$\
  $(BIN)/python -m pip install --disable-pip-version-check $(if $(KEEPS),--no-compile))

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

install: $(READY)  ## create .venv and install the lab with pinned dependencies
	@echo "The lab is installed in $(VENV); its command is $(BIN)/lab"

figure: say-figure $(READY)  ## draw Figure 11 of the simplicity paper as shipped, then train it and compare
	$(BIN)/lab figure simplicity/fig11 --compare

say-figure:
	@echo "Figure 11 of the simplicity paper: the shipped picture first, then training, about 2 minutes on two cores."

# SCALE=overnight or paper, HOURS=10; it goes on from where it stopped
overnight: $(READY)  ## train every figure for a night, those first whose open claims cost least
	nice -n 19 $(BIN)/lab train-all --scale $(or $(SCALE),overnight) --hours $(or $(HOURS),10)

# One after the other, since two would fight for the processors; all of them, whatever became of the one before.
test: $(TESTED)  ## lint, then run every test (browser tests need Chromium); fails if any part does
	@$(MAKE) --no-print-directory --keep-going --jobs=1 lint suite

lint: style types  ## look for what ruff and mypy find

style: $(TESTED)
	$(BIN)/ruff check .

types: $(TESTED)
	$(BIN)/python -m mypy

# A file's tests share what they have trained, so a worker takes files, in the order in which tests/conftest.py puts them.
# Processes that tests start find compiled what they import, also where PYTHONDONTWRITEBYTECODE is set.
# PYTEST: further arguments, as in make unit PYTEST="-m numerical"
TESTS = env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m pytest --numprocesses logical --maxprocesses 4 --dist loadfile --no-loadscope-reorder $(PYTEST)

suite: $(TESTED)  ## run every test; those of the browser wait much, and others use that time
	$(TESTS)

unit: $(TESTED)  ## run every test but those of the browser
	$(TESTS) --ignore tests/browser

browser: $(TESTED)  ## run the browser tests (they need Chromium)
	$(TESTS) tests/browser

test-gpu: $(TESTED)  ## run the tests of what depends on the device: on a GPU, where there is one
	$(BIN)/python -m pytest tests/test_device.py tests/test_gpu_batch.py tests/nonlinearity/test_gpu.py $(PYTEST)

docs: $(TESTED)  ## write an API reference into out/docs: open its index.html
	$(BIN)/python -m pdoc lab lab.probes lab.tasks --docformat google -o out/docs

gallery: $(READY)  ## write the results as a site into out/gallery: open its index.html
	$(BIN)/lab gallery

lab: $(READY)  ## open JupyterLab on the first notebook
	$(BIN)/jupyter lab notebooks/00_start_here.ipynb

clean:  ## remove .venv; what you trained stays
	rm -rf $(VENV)

$(READY): pyproject.toml constraints.txt
	$(call install,'.[export]')
	@touch $(READY)

$(TESTED): pyproject.toml constraints.txt
	$(call install,'.[dev$(comma)export]')
	@touch $(READY) $(TESTED)

comma := ,

define install
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "The lab needs Python 3.11 or newer, and '$(PYTHON)' is $$($(PYTHON) --version 2>/dev/null || echo missing)." \
	       "Install one and name it: make PYTHON=python3.12 ..." >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "$(PYTHON) lacks venv or ensurepip; on Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }
	@if [ -e $(BUSY) ]; then echo "An earlier installation did not finish; starting over."; rm -rf $(VENV); fi
	@echo "First, what this needs is installed into $(VENV): some minutes with pip, one or less with uv."
	@rm -f $(READY) $(TESTED); mkdir -p $(VENV); touch $(BUSY)
	$(PYTHON) -m venv $(VENV)
	$(PIP) --constraint constraints.txt --editable $(1)
	@rm $(BUSY)
endef
