#!/usr/bin/env python3
"""A page of every benchmark, one after the other in one session; about a quarter of an hour.

    make bench                                    # with the peers, from requirements-bench.txt
    python3 benchmarks/page.py --only urrp.py --out /tmp/page.md

Every figure with its requirement, the peer measured beside it, the machine and the versions. Exit
code 1 where a requirement is missed: the page is written all the same.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
from importlib import metadata
from pathlib import Path

sys.path.append(sys.path.pop(0))  # `statistics` is a neighbour's name in this folder
ROOT = Path(__file__).resolve().parents[1]
from figures import Figure, beside, number, verdict, wanted  # noqa: E402 - see above

PACKAGES = ("requests", "numpy", "scipy")
PARTS = {
    "runner.py": (
        "The call layer and the start of every script",
        "Against a loopback server that answers after 2 s. The ideal of a case is "
        "calls × latency ÷ concurrency: what a runner without any cost of its own would "
        "take. Server and runner share the machine.",
    ),
    "oneshot.py": (
        "One-shot studies and calibration",
        "Each command as a process of its own.",
    ),
    "tournament.py": (
        "Tournament and analysis",
        "Each command as a process of its own.",
    ),
    "statistics.py": (
        "Statistics",
        "In one process, best of several runs; a peer's ratio above 1 "
        "says how many times as fast ours is. R times itself, without its start.",
    ),
    "urrp.py": ("URRP", "From start to exit."),
    "bench.py": (
        "Iterated prisoner's dilemma",
        "Each command as a process of its own.",
    ),
}
NEIGHBOUR = ("bench.py",)  # of pd-agents, which has an environment of its own


def command(name: str) -> tuple[list[str], Path]:
    """How a benchmark is run, and where."""
    if name in NEIGHBOUR:
        uv = ROOT / ".venv-uv" / "bin" / "uv"
        return (
            [str(uv), "run", "--quiet", "python", f"benchmarks/{name}", "--json"],
            ROOT / "pd-agents",
        )
    more = ["--million"] if name == "urrp.py" else []
    return [sys.executable, str(ROOT / "benchmarks" / name), "--json", *more], ROOT


def figures(name: str) -> list[Figure]:
    """Run one benchmark; what it measured. An error of its own ends the page."""
    argv, folder = command(name)
    child = subprocess.Popen(argv, cwd=folder, stdout=subprocess.PIPE, text=True)
    found = []
    for line in child.stdout:
        found.append(Figure(**json.loads(line)))
        print(f"{name:<14} {found[-1].what}", file=sys.stderr, flush=True)
    if child.wait() not in (0, 1) or not found:
        sys.exit(f"{' '.join(argv)} failed")
    return found


def rows(found: list[Figure]) -> str:
    lines = ["| what | measured | required | | beside it |", "|---|---:|---:|---|---|"]
    lines += [
        f"| {f.what} | {number(f.value)} {f.unit} | {wanted(f)} | {verdict(f)} "
        f"| {beside(f)} |"
        for f in found
    ]
    return "\n".join(lines)


def versions() -> str:
    """Python, packages and R as they are in this run."""
    said = [f"Python {platform.python_version()}"]
    for name in PACKAGES:
        try:
            said.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            said.append(f"{name} not installed")
    code = (
        "cat(as.character(getRversion())); for (p in 'lme4') cat('', p, "
        "tryCatch(as.character(packageVersion(p)), error = function(e) 'not installed'))"
    )
    try:
        done = subprocess.run(["Rscript", "-e", code], capture_output=True, text=True)
        r, *own = done.stdout.split(" ")
        said += [
            f"R {r}",
            *(" ".join(own[at : at + 2]) for at in range(0, len(own) - 1, 2)),
        ]
    except OSError:
        said.append("R not installed")
    return ", ".join(said)


def machine() -> str:
    """The processor, without a name of its own."""
    model = platform.machine()
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    except OSError:
        pass
    return f"{os.cpu_count()} cores ({model}), {platform.system()}"


def page(held: dict[str, list[Figure]], load: float) -> str:
    """The whole page."""
    found = [figure for own in held.values() for figure in own]
    missed = [figure.what for figure in found if figure.met is False]
    asked = sum(figure.target is not None for figure in found)
    said = f"{asked - len(missed)} of {asked} requirements met" + (
        f"; missed: {'; '.join(missed)}." if missed else "."
    )
    parts = [
        "# Benchmarks",
        "Made by `make bench`: every figure of one session, on a machine that others share. "
        "Ratios to the ideal or to a peer in the same run mean more than seconds.",
        f"{said}",
        f"{machine()}, load before {load:.2f}. {versions()}.",
    ]
    for name, own in held.items():
        title, note = PARTS[name]
        parts += [f"## {title}", note, rows(own)]
    return "\n\n".join(parts) + "\n"


def main() -> int:
    flags = argparse.ArgumentParser(description="A page of every benchmark.")
    flags.add_argument(
        "--only",
        choices=PARTS,
        action="append",
        metavar="FILE",
        help=f"one of {', '.join(PARTS)}; repeatable (default all)",
    )
    flags.add_argument(
        "--out", metavar="FILE", default=str(ROOT / "dist" / "benchmarks.md")
    )
    args = flags.parse_args()
    load = os.getloadavg()[0]
    held = {name: figures(name) for name in args.only or PARTS}
    Path(args.out).parent.mkdir(parents=True, exist_ok=True)
    Path(args.out).write_text(page(held, load), encoding="utf-8")
    print(args.out)
    return int(any(figure.met is False for own in held.values() for figure in own))


if __name__ == "__main__":
    sys.exit(main())
