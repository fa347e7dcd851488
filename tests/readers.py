"""Programmes of other people that read what is exported: where they are on this machine."""

import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@cache
def python_with(*packages):
    """A Python that has all `packages`; skips where there is none."""
    check = f"import importlib.util as i, sys; sys.exit(not all(map(i.find_spec, {packages!r})))"
    rooms = (".venv-exports", ".venv-inspect", "pd-agents/.venv")
    for python in [*(ROOT / room / "bin/python" for room in rooms), sys.executable]:
        if not Path(python).exists():
            continue
        done = subprocess.run([python, "-c", check], check=False)
        if done.returncode == 0:
            return python
    names = " and ".join(packages)
    return pytest.skip(f"{names} not installed; make test installs them")


def rscript(*packages):
    """Rscript with `packages`; skips where it or one of them is missing."""
    if shutil.which("Rscript") is None:
        pytest.skip("R is not installed")
    for package in packages:
        check = f"quit(status = !requireNamespace('{package}', quietly = TRUE))"
        command = ["Rscript", "-e", check]
        done = subprocess.run(command, check=False, capture_output=True)
        if done.returncode:
            pytest.skip(f"R has no package {package}")
    return "Rscript"
