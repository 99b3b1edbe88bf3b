# `make build` and `make test` need Python 3.11+ and nothing else: each sets up what it uses, once.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: build check test oracle trace bench pictures tables clean

build: $(VENV)/installed
	$(BIN)/sizing build

check: $(VENV)/installed
	$(BIN)/sizing check

test: $(VENV)/installed-test
	tests/setup-libreoffice
	$(BIN)/python -m pytest -n 2

# Whole shipped books in every engine; .ci/run calls it.
oracle: $(VENV)/installed-test
	tests/setup-libreoffice
	$(BIN)/python -m pytest -m oracle -n 2

# Real training steps, traced without a GPU, against the reference; .ci/run calls it.
trace: $(VENV)/installed-trace
	$(BIN)/python -m pytest -m trace -n 2

bench: $(VENV)/installed-test
	tests/setup-libreoffice
	$(BIN)/python -m tests.benchmark

pictures: build
	tests/setup-libreoffice
	$(BIN)/python -m tests.pictures

$(VENV)/installed: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

$(VENV)/installed-test: pyproject.toml $(VENV)/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	touch $@

$(VENV)/installed-trace: pyproject.toml $(VENV)/installed-test
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[trace]'
	touch $@

tables: $(VENV)/installed
	$(BIN)/python -m tests.tables

clean:
	rm -rf $(VENV) build *.egg-info
