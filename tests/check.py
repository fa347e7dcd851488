"""The tests of what changed, nearest first, within a minute of CPU: `make check`.

    .venv/bin/python tests/check.py [FILE…]    # default: what git sees as changed, or last commit

First come the tests named after a changed file (test_journal.py of journal.py, test_tournament_cli.py
of run_tournament.py), then those that derive the committed studies again and the scripts' own; then
every test file with at most NEAR imports between it and a changed file, those that name it most often
first. A script that a test names counts as imported. What the minute does not reach is skipped; `make
test` runs everything. A change in pd-agents/ runs the unit tests there, in their own environment.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from lint import imports, owner

ROOT = Path(__file__).resolve().parents[1]
SECONDS = 50  # of CPU; the rest of the minute is for ruff and for collecting
NEAR = 2
ALWAYS = ("tests/test_confirmatory.py", "tests/test_paper.py", "tests/test_scripts.py")
UV = ROOT / ".venv-uv/bin/uv"


def git(*command: str) -> list[str]:
    return subprocess.run(
        ["git", *command], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()


def changed() -> list[str]:
    """Files that differ from the last commit, or those of the last commit where none differs."""
    files = git("diff", "--name-only", "HEAD")
    files += git("ls-files", "--others", "--exclude-standard")
    return files or git("show", "--name-only", "--format=", "HEAD")


def is_test(name: str) -> bool:
    return name.startswith("tests/") and Path(name).name.startswith("test_")


def needs() -> dict[str, set[str]]:
    """{file: the files of the project that it imports or names} of every Python file but those of
    pd-agents, whose tests want an environment of their own."""
    files = set()
    for name in git("ls-files", "-co", "--exclude-standard", "*.py"):
        if not name.startswith("pd-agents/") and (ROOT / name).exists():
            files.add(name)
    needed = {}
    for name in files:
        text = (ROOT / name).read_text("utf-8")
        used = {"tests/conftest.py", *re.findall(r'"([\w/]+\.py)"', text)}
        for dotted in imports(name, text):
            used |= {owner(dotted, files), owner(f"tests.{dotted}", files)}
        needed[name] = used
    return needed


def distances(files: list[str]) -> dict[str, int]:
    """{test file: imports between it and the nearest changed file}, up to NEAR."""
    out, needed = dict.fromkeys(files, 0), needs()
    for step in range(NEAR):
        near = {name for name, distance in out.items() if distance == step}
        for name, used in needed.items():
            if used & near:
                out.setdefault(name, step + 1)
    tests = list(filter(is_test, needed))
    # A prompt or an example is near the tests that write the name of its folder.
    folders = set()
    for name in files:
        if not name.endswith(".py"):
            folders |= {f'"{part}"' for part in Path(name).parts[:2]}
    for name in tests:
        text = (ROOT / name).read_text("utf-8")
        if any(folder in text for folder in folders):
            out[name] = 1
    return {name: out[name] for name in tests if name in out}


class Minute:
    """Runs the nearest test files first, and skips what comes after SECONDS of CPU."""

    def __init__(self, nearest: list[str]):
        self.nearest = nearest

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items):
        items.sort(
            key=lambda item: self.nearest.index(str(item.path.relative_to(ROOT)))
        )

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self):
        if sum(os.times()[:4]) > SECONDS:
            pytest.skip(f"not reached in {SECONDS} s of CPU: make test runs them")


def near(files: list[str]) -> int:
    """Run the tests of the scripts that are near the changed files; the exit code."""
    distance = distances(files) | dict.fromkeys(ALWAYS, -1)
    own = tuple(f"test_{Path(file).stem.removeprefix('run_')}" for file in files)
    for name in distance:
        if Path(name).stem.startswith(own):
            distance[name] = -2
    print(f"check: {len(distance)} test files are near the change", flush=True)
    named = re.compile("|".join(re.escape(Path(file).stem) for file in files))

    def place(name: str) -> tuple[int, int]:
        """Nearer first; of equally near ones that which names a changed file most often."""
        return distance[name], -len(named.findall((ROOT / name).read_text("utf-8")))

    nearest = sorted(distance, key=place)
    return pytest.main(["-q", "-rs", *nearest], plugins=[Minute(nearest)])


def pd_agents() -> int:
    """Run the unit tests of pd-agents; the exit code."""
    if not UV.exists():
        print("check: tests of pd-agents need its environment: make .venv-uv/ready")
        return 1
    command = [UV, "run", "--all-extras", "pytest", "-q", "tests/unit"]
    return subprocess.run(command, cwd=ROOT / "pd-agents", check=False).returncode


def main(files: list[str]) -> int:
    files = files or changed()
    in_pd = [name for name in files if name.startswith("pd-agents/")]
    failed = pd_agents() if in_pd else 0
    if len(in_pd) < len(files):
        failed = near(files) or failed
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
