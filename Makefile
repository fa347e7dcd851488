# Everything here runs on a bare python3, except where a live call or a test needs a package:
# then .venv is made first, from the pinned requirements (from vendor/ where that exists).
PYTHON ?= python3
ifeq ($(filter help clean,$(or $(MAKECMDGOALS),help)),)
ifneq ($(shell $(PYTHON) -c 'import sys; print(sys.version_info >= (3, 11))' 2>/dev/null),True)
$(error $(PYTHON) is not Python 3.11 or newer; name one: make PYTHON=python3.12 $(MAKECMDGOALS))
endif
endif
PORT ?= 8080
PROBES ?= payoffs,entry,beliefs,peer,purpose

# A key or a server means live calls, and those need `requests`.
KEYED := $(or $(OPENROUTER_API_KEY),$(shell grep -s '^ *OPENROUTER_API_KEY=.' .env))
LIVE := $(strip $(BASE_URL)$(OPENROUTER_BASE_URL)$(KEYED))
RUN := $(if $(LIVE),.venv/bin/python,$(PYTHON))
NEED := $(if $(LIVE),.venv/run-ready)
# `uv sync` (docs/inspect.md) takes away what tests need.
$(if $(wildcard .venv/bin/pytest),,$(shell rm -f .venv/dev-ready))
WHEELS := $(if $(wildcard vendor/*.whl),--no-index --find-links vendor)
CALL_FLAGS = $(if $(BASE_URL),--base-url $(BASE_URL)) $(if $(MODELS),--models $(MODELS)) \
	$(if $(SEED),--seed $(SEED)) $(if $(LIMIT_USD),--limit-usd $(LIMIT_USD)) $(ARGS)

# pd-agents has an environment of its own, made by uv, and wants Python 3.12 or newer.
UV_PYTHON ?= $(firstword $(wildcard $(HOME)/.pyenv/versions/3.1[2-9]*/bin/python3) \
	$(shell command -v python3.14 || command -v python3.13 || command -v python3.12))
ifeq ($(filter pd,$(MAKECMDGOALS))$(UV_PYTHON),pd)
$(error pd-agents needs Python 3.12 or newer; install it or name one: make pd UV_PYTHON=/path/to/python3.12)
endif
UV = cd pd-agents && $(if $(UV_PYTHON),UV_PYTHON=$(UV_PYTHON)) ../.venv-uv/bin/uv

.DEFAULT_GOAL := help
.PHONY: missing system-packages help pilot lever mechanism mirror twin tournament study pd urrp urrp-example analyze adjudicate calibrate report verify examples check test lint local-model bundle vendor bench clean

help:  ## this list
	@echo "cirrus-bench: behavioural experiments on language models"
	@echo
	@grep -hE '^[a-z-]+:.*  ## ' $(MAKEFILE_LIST) | sed -E 's/:.*  ## /\t/' | \
		awk -F '\t' '{printf "  make %-14s %s\n", $$1, $$2}'
	@echo
	@echo "Variables: BASE_URL=http://127.0.0.1:8080/v1 MODELS=a,b SEED=42 LIMIT_USD=3 ARGS='--runs 20'"
	@echo "With OPENROUTER_API_KEY (or .env) set, models answer; without, simulated respondents do."

# Without models the demonstration has a size at which an effect is shown.
pilot: $(NEED)  ## the 2×2 study: 160 one-shot decisions of models (640 simulated), into results/pilot/
	@$(RUN) run_pilot.py $(if $(LIVE),,--runs 40) $(CALL_FLAGS)

lever: $(NEED)  ## how far the joint outcome has to be raised to do as much as symmetry and cue
	@$(RUN) run_pilot.py --design lever $(CALL_FLAGS)

mechanism: $(NEED)  ## which accounts of cooperation are left; LEVER=1…6 or a lever study's folder
	@$(RUN) run_pilot.py --design mechanism --probes $(PROBES) $(if $(LEVER),--lever $(LEVER)) $(CALL_FLAGS)

mirror: $(NEED)  ## a record of how often entries were alike, in four games: is its own act evidence?
	@$(RUN) run_pilot.py --design mirror $(CALL_FLAGS)

twin: $(NEED)  ## undisguised: its own copy, another model, a person
	@$(RUN) run_pilot.py --design twin $(CALL_FLAGS)

tournament: $(NEED)  ## a small one: 2×2 cells, 6 agents, 6 rounds, analysed; PLAN=confirmatory for ten runs
	@$(RUN) run_tournament.py --plan $(or $(PLAN),2x2 --agents 6 --rounds 6) --analyze $(CALL_FLAGS)

study: $(NEED)  ## all that the six gates ask for, and history off (42 runs), registered as one study, run and analysed
	@$(RUN) run_tournament.py --plan study --preregister $(CALL_FLAGS)
	@$(RUN) run_tournament.py --plan study --analyze $(CALL_FLAGS)

urrp: $(NEED)  ## URRP v1.1: collect trials into urrp_runs.jsonl, then analyse them
	@$(RUN) urrp_run.py $(CALL_FLAGS)
	@$(PYTHON) urrp_analyze.py urrp_runs.jsonl --html urrp_runs.html

urrp-example:  ## analyse 230 real trials of SmolLM2-135M, the committed example
	@$(PYTHON) urrp_analyze.py results/examples/urrp-smollm2/urrp_runs.jsonl

pd: .venv-uv/ready  ## the iterated prisoner's dilemma: default experiment and its table
	@$(UV) run pdbench run configs/experiment.yaml
	@$(UV) run pdbench report data/runs/default
	@echo "these files lie below pd-agents/; pd-agents/README.md tells the rest"

analyze:  ## every figure and file of RUNS=results/pilot again, from the journals
	@$(PYTHON) analyze.py $(or $(RUNS),results/pilot) $(ARGS)

adjudicate: $(NEED)  ## two models rate policies of RUNS=… blind; MODELS=a,b
	@$(RUN) adjudicate.py $(or $(RUNS),results/acausal/confirmatory-s42) $(CALL_FLAGS)

calibrate:  ## respondents whose behaviour is known: what is said of them (ARGS='--reps 1000 --jobs 2')
	@$(PYTHON) calibrate.py $(if $(SEED),--seed $(SEED)) $(or $(ARGS),--reps 20 --jobs 2)

report:  ## results/index.html: every run with its state, headline and link
	@$(PYTHON) analyze.py --index results

verify:  ## check every run in results/ against its journal, byte for byte
	@$(PYTHON) analyze.py --verify $(or $(RUNS),results)

examples:  ## the SIMULATED studies of results/examples again, with the prompts of today
	@rm -rf dist/examples && mkdir -p dist/examples
	@$(PYTHON) run_pilot.py --design lever --provider simulated --out dist/examples --run-id lever
	@$(PYTHON) run_pilot.py --design mechanism --provider simulated --out dist/examples \
		--run-id mechanism --runs 6 --lever dist/examples/lever --probes $(PROBES)
	@$(PYTHON) run_pilot.py --design mirror --provider simulated --out dist/examples --run-id mirror
	@$(PYTHON) run_pilot.py --design twin --provider simulated --out dist/examples --run-id twin
	@$(PYTHON) run_pilot.py --design mechanism --provider simulated --out dist/examples \
		--run-id mechanism-missing --runs 3 --models tests/loses.py:loses-three
	@echo '{"games_per_pair": 2, "randomization": {"history_mode": "off"}}' > dist/examples/config.json
	@$(PYTHON) run_tournament.py --provider simulated --models sim-correlation --agents 4 --rounds 2 \
		--config dist/examples/config.json --out dist/examples --run-id history-off
	@for name in lever mechanism mechanism-missing mirror twin history-off; do \
		rm -rf results/examples/$$name; mv dist/examples/$$name results/examples/$$name; done
	@echo '{"games_per_pair": 1}' > dist/examples/config.json
	@$(PYTHON) run_tournament.py --plan confirmatory --provider simulated --models sim-correlation \
		--agents 6 --rounds 8 --config dist/examples/config.json --out dist/examples
	@rm -rf results/examples/confirmatory
	@mv dist/examples/confirmatory-s42* results/examples/confirmatory
	@$(PYTHON) analyze.py results/examples/confirmatory
	@echo '{"agents": 7, "rounds": 6, "games_per_pair": 1}' > dist/examples/config.json
	@for step in --preregister "--jobs 2"; do $(PYTHON) run_tournament.py --plan study $$step \
		--provider simulated --models sim-certain --config dist/examples/config.json --out dist/examples; done
	@cd dist/examples && tar -cJf ../../results/examples/study/study.tar.xz \
		--sort=name --owner=0 --group=0 --numeric-owner study-s42-*
	@$(PYTHON) analyze.py dist/examples/study-s42-*
	@mv dist/examples/study-s42-*/report.html results/examples/study/

local-model: .venv-model/ready  ## serve SmolLM2-135M on 127.0.0.1 (first time: compiles, 5 to 15 min)
	@echo "serving smollm2-135m on http://127.0.0.1:$(PORT)/v1 until Ctrl-C"
	@.venv-model/bin/python -m llama_cpp.server --host 127.0.0.1 --port $(PORT) \
		--model "$$(find .venv-model -name 'SmolLM2-135M-Instruct*.gguf' | head -n 1)" \
		--model_alias smollm2-135m --n_ctx 4096 --n_threads 2 --interrupt_requests false \
		--verbose false

# A process more than there are cores: kills, servers and browsers are waited for. Both suites
# run to their end, whichever fails.
SCRIPT_TESTS = .venv/bin/python -m pytest -n $$(($$(getconf _NPROCESSORS_ONLN) + 1)) \
	--dist loadfile --no-loadscope-reorder -rs
PD_TESTS = $(if $(UV_PYTHON),(cd pd-agents && UV_PYTHON=$(UV_PYTHON) ../.venv-uv/bin/uv run --all-extras pytest -q),true)
test: missing lint .venv/dev-ready $(if $(WHEELS),,dist/wheels/ready) .venv-exports/ready .venv-inspect/ready $(if $(UV_PYTHON),.venv-uv/ready)  ## style, every test, on this machine
	@$(if $(UV_PYTHON),($(UV) sync -q --all-extras))
	@$(SCRIPT_TESTS); scripts=$$?; $(PD_TESTS); pd=$$?; \
		$(PYTHON) tests/missing.py "$(UV_PYTHON)" | sed 1d; \
		test $$scripts -eq 0 || echo "FAILED: tests of the scripts, above" >&2; \
		test $$pd -eq 0 || echo "FAILED: tests of pd-agents, above" >&2; \
		test $$scripts -eq 0 -a $$pd -eq 0

check: lint $(if $(UV_PYTHON),.venv-uv/ready)  ## style, and the tests near what changed: a minute of CPU
	@$(if $(UV_PYTHON),UV_PYTHON=$(UV_PYTHON)) .venv/bin/python tests/check.py

missing:
	@$(PYTHON) tests/missing.py "$(UV_PYTHON)"

system-packages:  ## a browser for the tests that look at reports (Debian, as root)
	@sh tests/system-packages.sh

lint: .venv/dev-ready  ## style, and how large and how plain the code is
	@.venv/bin/ruff check .
	@.venv/bin/ruff format -q --check . || { echo "not formatted: .venv/bin/ruff format ." >&2; exit 1; }
	@.venv/bin/mypy --no-error-summary --strict stats common
	@.venv/bin/mypy --no-error-summary *.py cirrus urrp show
	@$(or $(UV_PYTHON),$(PYTHON)) tests/lint.py $(HOLD)

bench: .venv-bench/ready .venv-uv/ready  ## dist/benchmarks.md: every figure, peers in the same run (15 min)
	@.venv-bench/bin/python benchmarks/page.py $(ARGS)

# The same bytes from the same commit: sorted, without clock times, without what pip notes down.
DIST ?= dist
bundle: .venv/run-ready $(if $(WHEELS),,dist/wheels/ready)  ## dist/cirrus-bench.pyz: every command in one file, for a bare Python
	@rm -rf $(DIST)/bundle && mkdir -p $(DIST)/bundle
	@cp -R *.py cirrus urrp common show stats prompts config $(DIST)/bundle
	@.venv/bin/python -m pip install -q --disable-pip-version-check --require-hashes --no-compile \
		--no-index --find-links $(if $(WHEELS),vendor,dist/wheels) --target $(DIST)/bundle \
		--only-binary=:all: --platform any --python-version 3.11 -r requirements.txt
	@cd $(DIST)/bundle && rm -rf bin && find . -name __pycache__ -prune -exec rm -rf {} + && \
		find . -path '*.dist-info/RECORD' -delete && chmod -R u=rwX,go=rX . && \
		find . -exec env TZ=UTC touch -t 200001010000 {} + && \
		TZ=UTC $(PYTHON) -m zipfile -c ../bundle.zip .
	@$(PYTHON) -m zipapp $(DIST)/bundle.zip -p "/usr/bin/env python3" -o $(DIST)/cirrus-bench.pyz
	@rm -rf $(DIST)/bundle $(DIST)/bundle.zip
	@echo "$(DIST)/cirrus-bench.pyz: $$(($$(wc -c < $(DIST)/cirrus-bench.pyz) / 1000)) kB"

dist/wheels/ready: requirements.txt .venv/run-ready
	@.venv/bin/python -m pip download -q --disable-pip-version-check --require-hashes -d $(@D) \
		--only-binary=:all: --platform any --python-version 3.11 -r requirements.txt
	@touch $@

vendor:  ## fetch the pinned wheels into vendor/, for machines without a network
	@echo "vendor: fetching wheels for Python 3.11, 3.12 and 3.13 (half a minute)"
	@$(PYTHON) -m venv .venv-fetch
	@for version in 3.11 3.12 3.13; do .venv-fetch/bin/python -m pip download -q --disable-pip-version-check --require-hashes -d vendor \
		--only-binary=:all: --python-version $$version -r requirements-dev.txt || exit 1; done
	@.venv-fetch/bin/python -m pip download -q --disable-pip-version-check --require-hashes -d vendor --only-binary=:all: --platform any \
		--python-version 3.11 -r requirements.txt
	@rm -rf .venv-fetch
	@echo "vendor/: $$(ls vendor | wc -l) wheels; copy the project's folder: live calls and .venv/bin/python -m pytest need no network there"

clean:  ## remove environments and caches; results stay
	rm -rf .venv .venv-exports .venv-inspect .venv-fetch .venv-uv pd-agents/.venv .pytest_cache .ruff_cache .hypothesis dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Stamps, so that an interrupted installation is begun again.
.venv/run-ready: requirements.txt
	@echo "$(@D): installing requests, once" >&2
	@$(PYTHON) -m venv .venv
	@.venv/bin/python -m pip install -q --disable-pip-version-check --require-hashes $(WHEELS) -r requirements.txt
	@touch $@

.venv/dev-ready: requirements.txt requirements-dev.txt
	@echo "$(@D): installing what tests and ruff need, once" >&2
	@$(PYTHON) -m venv .venv
	@.venv/bin/python -m pip install -q --disable-pip-version-check --require-hashes $(WHEELS) -r requirements-dev.txt
	@touch .venv/run-ready $@

# The peers that benchmarks are compared with; R's are taken where R has them.
.venv-bench/ready: requirements.txt requirements-bench.txt
	@echo "$(@D): installing the peers that benchmarks are compared with, once" >&2
	@$(PYTHON) -m venv .venv-bench
	@.venv-bench/bin/python -m pip install -q --disable-pip-version-check --require-hashes $(WHEELS) -r requirements-bench.txt
	@touch $@

.venv-uv/ready: requirements-uv.txt
	@echo "$(@D): installing uv, once" >&2
	@$(PYTHON) -m venv .venv-uv
	@.venv-uv/bin/python -m pip install -q --disable-pip-version-check --require-hashes -r requirements-uv.txt
	@touch $@

# Programmes of other people that tests use; without a network these tests skip.
.venv-exports/ready .venv-inspect/ready: .venv-%/ready: requirements-%.txt .venv-uv/ready
	@echo "$(@D): installing what $< lists, once" >&2
	@{ rm -rf $(@D) && .venv-uv/bin/uv venv -q --python "$$(command -v $(PYTHON))" $(@D) && \
		.venv-uv/bin/uv pip install -q --require-hashes --python $(@D)/bin/python -r $< && touch $@; } || \
		echo "not installed: the tests that need $< will skip" >&2

# GGML_NATIVE=OFF: a virtual machine may announce instructions (AMX) that it does not let run;
# AVX2, where the processor has it, makes an answer four times as fast.
# --no-cache-dir: a wheel built earlier for this machine must not come back.
SIMD = $(if $(shell grep -m 1 -o avx2 /proc/cpuinfo 2>/dev/null),-DGGML_AVX2=ON -DGGML_FMA=ON -DGGML_F16C=ON)
.venv-model/ready: requirements-model.txt
	@$(PYTHON) -m venv .venv-model
	@CMAKE_ARGS="-DGGML_NATIVE=OFF $(SIMD)" .venv-model/bin/python -m pip install --no-cache-dir \
		--disable-pip-version-check --require-hashes --no-binary llama-cpp-python -r requirements-model.txt
	@touch $@
