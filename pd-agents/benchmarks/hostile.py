"""`pdbench run` against servers that answer as none should: time, memory, tracebacks, the key.

    uv run python benchmarks/hostile.py                     # two minutes; exit code 1 above a limit
    uv run --all-extras python benchmarks/hostile.py --provider litellm

Every answer of tests/hostile.py meets a process of its own, which plays one round with one call.
The call is timed within it, from the model's adapter being asked to its answer or its line: what
starting and ending take depends on the machine's load, a call's deadline does not.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT.parent / "benchmarks")]
from figures import Figure, show  # noqa: E402

from hostile import ANSWERS, KEY, Hostile, serving  # noqa: E402

DEADLINE_S = 2.0
OVER_S = 1.0
MOST_MB = 200

CONFIG = """
run: {{run_id: hostile, seed: 1, output_dir: "{out}"}}
game: {{payoffs: {{CC: [3, 3], CD: [0, 5], DC: [5, 0], DD: [1, 1]}}}}
horizon: {{type: fixed, n: 1}}
conditions:
  - name: hostile
    agent_a:
      ref: {configs}/agents/llm_default.yaml
      overrides:
        provider: {{name: {provider}, model: {model}, base_url: "{url}", api_key_env: TEST_KEY,
                   timeout_s: {deadline}, connection_retries: 1}}
        max_retries: 0
    agent_b: {{ref: {configs}/agents/policies.yaml}}
"""


# `pdbench run CONFIG`, which also says how long its call took.
TIMED = """
import sys, time
from pdbench import cli
from pdbench.runners import registry

adapter = registry.client

class Timed:
    def __init__(self, provider):
        self.adapter = adapter(provider)

    def complete(self, **question):
        start = time.monotonic()
        try:
            return self.adapter.complete(**question)
        finally:
            print(f"call took {time.monotonic() - start:.3f} s", file=sys.stderr)

registry.client = Timed
sys.argv = ["pdbench", "run", sys.argv[1]]
sys.exit(cli.main())
"""


class Met(NamedTuple):
    """What became of one process: seconds of its call and of the whole of it."""

    call: float
    seconds: float
    megabytes: float
    code: int
    traceback: bool
    key: bool


def meet(case: Hostile, provider: str) -> Met:
    with tempfile.TemporaryDirectory() as folder, serving(case.sends) as url:
        config = Path(folder) / "hostile.yaml"
        config.write_text(
            CONFIG.format(
                out=f"{folder}/run",
                configs=ROOT / "configs",
                provider=provider,
                url=url,
                model="openai/m" if provider == "litellm" else "m",
                deadline=DEADLINE_S,
            )
        )
        said = Path(folder) / "said"
        with said.open("w") as file:
            start = time.monotonic()
            process = subprocess.Popen(
                [sys.executable, "-c", TIMED, str(config)],
                stdout=file,
                stderr=file,
                env=os.environ | {"TEST_KEY": KEY},
            )
            _, status, used = os.wait4(process.pid, 0)
            seconds = time.monotonic() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        kept = [
            f.read_bytes()
            for f in Path(folder).rglob("*")
            if f.is_file() and f != config
        ]
        text = said.read_text()
        [call] = map(float, re.findall(r"call took ([\d.]+) s", text))
        return Met(
            call,
            seconds,
            used.ru_maxrss / 1024,
            process.returncode,
            "Traceback" in text,
            any(KEY.encode() in data for data in kept),
        )


def figures(provider: str):
    met = {name: meet(case, provider) for name, case in ANSWERS.items()}
    for name, one in met.items():
        print(
            f"{name:36} {one.call:6.2f} s of {one.seconds:6.2f} s {one.megabytes:5.0f} MB"
            f"  exit {one.code}",
            file=sys.stderr,
        )
    yield Figure("answers", len(met), "", 68, least=True)
    yield Figure(
        "longest call beyond its deadline",
        max(one.call for one in met.values()) - DEADLINE_S,
        "s",
        OVER_S,
    )
    yield Figure(
        "longest process without its call",
        max(one.seconds - one.call for one in met.values()),
        "s",
    )
    yield Figure("programs that wanted a core meanwhile (load)", os.getloadavg()[1], "")
    yield Figure(
        "peak memory", max(one.megabytes for one in met.values()), "MB", MOST_MB
    )
    yield Figure("tracebacks", sum(one.traceback for one in met.values()), "", 0)
    yield Figure(
        "exit codes other than 0 and 3",
        sum(one.code not in (0, 3) for one in met.values()),
        "",
        0,
    )
    yield Figure(
        "files and messages with the key", sum(one.key for one in met.values()), "", 0
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--provider", choices=("openai", "anthropic", "litellm"), default="openai"
    )
    parser.add_argument("--json", action="store_true", help="a JSON line each")
    return show(figures(parser.parse_args().provider))


if __name__ == "__main__":
    sys.exit(main())
