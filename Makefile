# The two commands of the README: `make demo` and `make test`. Both do all their set-up.
# Needs Python 3.10 or later, cargo with Rust 1.89 or later, and a C compiler.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Threads of a run, one for each processor that may be used unless `JOBS=N` is given.
THREADS := $(if $(JOBS),--jobs $(JOBS))
# pip does not compile all installed modules; Python compiles the imported ones.
export PIP_NO_COMPILE := 1
# `DEMO=--quick` shortens the main job.
DEMO ?=
# The cargo profile of the core and of the benchmarks. With `CORE_PROFILE=dev` they share what the Rust tests compile.
CORE_PROFILE ?= release
export CORE_PROFILE
export MATURIN_PEP517_ARGS := --profile $(CORE_PROFILE)
# Seconds for which `make soak` feeds mutants to the command.
SOAK_S ?= 300

# What is free of the words of tools/words.txt, and stays so.
PLAIN := $(wildcard crates/* python/isthmus/*.py python/isthmus/*/ tools/*.py)

RUST := Cargo.toml Cargo.lock $(shell find crates -name '*.rs' -o -name Cargo.toml)
PACKAGE := pyproject.toml $(shell find python -name '*.py' -o -name '*.html' -o -name '*.css' -o -name '*.js' -o -name '*.toml')

.PHONY: demo dev test test-rust test-python test-wheel fuzz wheel lint docs papers papers-quick bench bench-quick coverage notices audit soak kill-rounds fuzz-formats clean help

help:
	@echo 'make demo         build, install into $(VENV), run the main job'
	@echo 'make dev          the package from a fast, incremental build, for work on the Rust core'
	@echo 'make test         everything: Rust, Python, end to end, README, lints, docs'
	@echo 'make lint         formatters and linters only'
	@echo 'make fuzz         mutated files and arguments against the command, always the same'
	@echo 'make fuzz-formats  the fuzzers of fuzz/, $(FUZZ_S) s each; nightly Rust and cargo-fuzz'
	@echo 'make test-wheel   the source distribution and the wheel, installed elsewhere'
	@echo 'make papers       reproduce the papers at their own settings, and keep what comes out'
	@echo 'make papers-quick the same, shortened'
	@echo 'make bench        all benchmarks, with their peers; results in bench/results.json'
	@echo 'make bench-quick  the same, shortened'
	@echo 'make coverage     how often intervals hold the truth; the table of docs/statistics.md'
	@echo 'make notices      THIRD-PARTY.md, the licences of linked crates; needs cargo-about'
	@echo 'make audit        known flaws of what is used; needs cargo-deny and the databases'
	@echo 'make wheel        source distribution and wheel in dist/'
	@echo 'make soak         the property tests with fresh random cases, more arrays, mutants for $(SOAK_S) s'
	@echo 'make kill-rounds  kills of the I/O daemon, its mount and clients, $(ROUNDS) rounds; then programs on a mount'
	@echo 'make docs         the guide in site/, the Rust documentation in target/doc'
	@echo 'make clean        remove what was built'

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

# The profile of the core that is installed.
PROFILE := $(VENV)/.profile-$(CORE_PROFILE)
$(PROFILE): $(BIN)/python
	@rm -f $(VENV)/.profile-*
	@touch $@

# The package with its native core.
$(VENV)/.installed: $(BIN)/python $(PROFILE) $(RUST) $(PACKAGE)
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

# The same with what the tests need.
$(VENV)/.test-tools: $(BIN)/python $(PROFILE) $(RUST) $(PACKAGE)
	$(BIN)/python -m pip install --quiet --editable '.[test,docs]'
	@touch $(VENV)/.installed $@

demo: $(VENV)/.installed
	$(BIN)/isthmus run examples/hypercube-128.toml --out out/hypercube-128 $(THREADS) --fresh $(DEMO)

# The package with an incremental core of the development profile. `make demo` and `make test` build the release
# core again.
dev: $(BIN)/python
	@test -x $(BIN)/maturin || $(BIN)/python -m pip install --quiet 'maturin>=1.9.4,<2'
	@rm -f $(VENV)/.installed $(VENV)/.test-tools
	VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/maturin develop --locked --quiet

test: lint test-rust test-python test-wheel fuzz docs

test-rust:
	cargo test --workspace --locked --quiet

test-python: $(VENV)/.test-tools
	$(BIN)/python -m pytest --numprocesses $(or $(JOBS),auto) --dist loadfile

# A source distribution, a wheel made of it, and the commands from outside of the repository.
test-wheel: $(VENV)/.test-tools
	$(BIN)/python -m pytest -m slow tests/python/test_wheel.py

# Mutated files and arguments against the command, always the same ones.
fuzz: $(VENV)/.test-tools
	$(BIN)/python tests/fuzz/run.py --seed 20001 --seconds 20 --save out/fuzz

# The fuzzers of fuzz/, each for $(FUZZ_S) s, from what they kept: with a nightly compiler and cargo-fuzz.
FUZZ_S ?= 60
fuzz-formats:
	for target in $(notdir $(basename $(wildcard fuzz/fuzz_targets/*.rs))); do \
	  mkdir -p fuzz/grown/$$target && cargo +nightly fuzz run -s none $$target \
	    fuzz/grown/$$target fuzz/corpus/$$target -- -max_total_time=$(FUZZ_S) || exit 1; done

# The licences of what is linked into the core: cargo install --locked --features cli cargo-about
notices:
	cargo about generate --locked --config packaging/about.toml \
	  --manifest-path crates/py/Cargo.toml packaging/about.hbs --output-file THIRD-PARTY.md

# Known flaws of crates and packages: cargo install --locked cargo-deny. What cannot be asked is a failure.
audit: $(VENV)/.test-tools
	cargo deny --locked check
	$(PYTHON) -m venv $(VENV)/audit
	$(VENV)/audit/bin/python -m pip install --quiet 'pip-audit>=2.7,<3'
	$(VENV)/audit/bin/pip-audit --strict --progress-spinner off \
	  --path "$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')"

# What is given to others, made from what the source distribution holds: one wheel for all Pythons
# from 3.10 on.
wheel: $(VENV)/.test-tools
	CARGO_TARGET_DIR=$(CURDIR)/target $(BIN)/maturin build --release --locked --sdist --out dist

lint: $(VENV)/.test-tools
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked --quiet -- -D warnings
	cargo fmt --manifest-path fuzz/Cargo.toml --check
	$(BIN)/ruff format --check python tests bench tools docs/.hooks
	$(BIN)/ruff check python tests bench tools docs/.hooks
	$(BIN)/mypy
	$(BIN)/codespell $(PLAIN)

docs: $(VENV)/.test-tools
	RUSTDOCFLAGS='-D warnings' cargo doc --workspace --no-deps --locked --quiet
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

papers: $(VENV)/.installed
	$(BIN)/isthmus papers run hypercube-io --plots png --keep $(THREADS)
	$(BIN)/isthmus papers run sci-fabrics --plots png --keep $(THREADS)
	$(BIN)/isthmus papers run qsnet-io --plots png --keep $(THREADS)
	$(BIN)/isthmus papers run nic-streams --plots png --keep $(THREADS)

papers-quick: $(VENV)/.installed
	$(BIN)/isthmus papers run hypercube-io --quick $(THREADS)
	$(BIN)/isthmus papers run sci-fabrics --quick $(THREADS)
	$(BIN)/isthmus papers run qsnet-io --quick $(THREADS)
	$(BIN)/isthmus papers run nic-streams --quick $(THREADS)

bench: $(VENV)/.installed
	$(BIN)/python bench/run.py

bench-quick: $(VENV)/.installed
	$(BIN)/python bench/run.py --quick

# How often the intervals hold the truth, on all kinds of machine: minutes.
coverage: $(VENV)/.installed
	$(BIN)/python bench/coverage.py --keep $(THREADS)
	$(BIN)/python bench/verdicts.py --keep $(THREADS)

# The property tests with fresh random cases, five times as many random arrays in files and between ranks as
# the tests have, then mutants; the seed is printed so that a failure can be repeated.
soak: $(VENV)/.test-tools
	@seed=$$(od -An -N4 -tu4 /dev/urandom | tr -d ' '); echo "PROPTEST_RNG_SEED=$$seed"; \
	PROPTEST_RNG_SEED=$$seed cargo test --workspace --locked --quiet --release && \
	ISTHMUS_TEST_CASES=5 $(BIN)/python -m pytest tests/python/test_array*.py && \
	$(BIN)/python tests/fuzz/run.py --seed $$seed --seconds $(SOAK_S) --save out/fuzz

# Kills of the I/O daemon, of its mount and of clients, with a fresh seed, which is printed. Then fio, git, make and sqlite
# on a mount, with their own checks.
ROUNDS ?= 200
kill-rounds: $(VENV)/.test-tools
	$(BIN)/python tests/python/iod_kill_rounds.py --rounds $(ROUNDS)
	$(BIN)/python tests/python/iod_programs.py

clean:
	rm -rf target $(VENV) out dist site bench/.peers
