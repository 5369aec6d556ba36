# The two commands of the README: `make demo` and `make test`. Both do all their set-up.
# Needs Python 3.10 or later, cargo with Rust 1.88 or later, and a C compiler.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
JOBS ?= $(shell nproc 2>/dev/null || echo 2)

RUST := Cargo.toml Cargo.lock $(shell find crates -name '*.rs' -o -name Cargo.toml)
PACKAGE := pyproject.toml $(shell find python -name '*.py' -o -name '*.html' -o -name '*.css')

.PHONY: demo test test-rust test-python lint docs papers papers-quick bench bench-quick soak clean help

help:
	@echo 'make demo         build, install into $(VENV), run the main job'
	@echo 'make test         everything: Rust, Python, end to end, README, lints, docs'
	@echo 'make papers       reproduce the papers at their own settings'
	@echo 'make papers-quick the same, shortened'
	@echo 'make bench        all benchmarks, with their peers; results in bench/results.json'
	@echo 'make bench-quick  the same, shortened'
	@echo 'make soak         the property tests with fresh random cases'
	@echo 'make docs         the guide in site/, the Rust documentation in target/doc'
	@echo 'make clean        remove what was built'

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

# The package with its native core.
$(VENV)/.installed: $(BIN)/python $(RUST) $(PACKAGE)
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

# What the tests need beyond that.
$(VENV)/.test-tools: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --editable '.[test,docs]'
	@touch $@

demo: $(VENV)/.installed
	$(BIN)/isthmus run examples/hypercube-128.toml --out out/hypercube-128 --jobs $(JOBS) --fresh

test: lint test-rust test-python docs

test-rust:
	cargo test --workspace --locked --quiet

test-python: $(VENV)/.test-tools
	$(BIN)/python -m pytest

lint: $(VENV)/.test-tools
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked --quiet -- -D warnings
	$(BIN)/ruff format --check python tests bench docs/.hooks
	$(BIN)/ruff check python tests bench docs/.hooks
	$(BIN)/mypy

docs: $(VENV)/.test-tools
	RUSTDOCFLAGS='-D warnings' cargo doc --workspace --no-deps --locked --quiet
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

papers: $(VENV)/.installed
	$(BIN)/isthmus papers run hypercube-io --jobs $(JOBS)
	$(BIN)/isthmus papers run sci-fabrics --jobs $(JOBS)
	$(BIN)/isthmus papers run qsnet-io --jobs $(JOBS)

papers-quick: $(VENV)/.installed
	$(BIN)/isthmus papers run hypercube-io --quick --jobs $(JOBS)
	$(BIN)/isthmus papers run sci-fabrics --quick --jobs $(JOBS)
	$(BIN)/isthmus papers run qsnet-io --quick --jobs $(JOBS)

bench: $(VENV)/.installed
	$(BIN)/python bench/run.py

bench-quick: $(VENV)/.installed
	$(BIN)/python bench/run.py --quick

# The property tests with fresh random cases; the seed is printed so that a failure can be repeated.
soak:
	@seed=$$(od -An -N4 -tu4 /dev/urandom | tr -d ' '); echo "PROPTEST_RNG_SEED=$$seed"; \
	PROPTEST_RNG_SEED=$$seed cargo test --workspace --locked --quiet --release

clean:
	rm -rf target $(VENV) out site bench/.peers
