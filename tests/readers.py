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
    for python in (
        *(ROOT / f".venv-{name}/bin/python" for name in ("exports", "inspect")),
        ROOT / "pd-agents/.venv/bin/python",
        Path(sys.executable),
    ):
        if (
            python.exists()
            and not subprocess.run([python, "-c", check], check=False).returncode
        ):
            return python
    return pytest.skip(
        f"{' and '.join(packages)} not installed; make test installs them"
    )


def rscript(*packages):
    """Rscript with `packages`; skips where it or one of them is missing."""
    if shutil.which("Rscript") is None:
        pytest.skip("R is not installed")
    for package in packages:
        check = f"quit(status = !requireNamespace('{package}', quietly = TRUE))"
        if subprocess.run(
            ["Rscript", "-e", check], check=False, capture_output=True
        ).returncode:
            pytest.skip(f"R has no package {package}")
    return "Rscript"
