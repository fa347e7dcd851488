"""How long `make test` takes here, and what this machine lacks of what tests can use: said before
anything is installed or run.

    python3 tests/missing.py PYTHON      # PYTHON: a 3.12 or newer for pd-agents, or ""
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

CPU_S = 600  # of all tests of the scripts together
INSTALL = {".venv/dev-ready": ".venv", ".venv-exports/ready": "pandas and DuckDB",
           ".venv-uv/ready": "uv"}
WANTED = {
    ("chromium",): "reports and viewer are not opened in a browser",
    ("Rscript",): "nothing is compared with R",
}


def duration(cores: int, load: float) -> str:
    """How long, and why: CPU, cores, what else runs here, what is installed first."""
    workers = cores + 1
    share = min(1.0, workers / (workers + load)) if load > 1 else 1.0
    first = [name for stamp, name in INSTALL.items() if not Path(stamp).exists()]
    return (f"make test: about {CPU_S / cores / share / 60:.0f} minutes ({CPU_S / 60:.0f} minutes "
            f"of CPU on {cores} cores, load {load:.1f})"
            + (", after " + ", ".join(first) + " are installed" if first else ""))


def lines(python: str) -> list[str]:
    """One line for each thing that is not there, with what skips for it."""
    out = [f"not here: {names[0]}: {what}" for names, what in WANTED.items()
           if not any(map(shutil.which, names))]
    out += [f"not here: Python {version}: same bytes on it are not tried"
            for version in ("3.12", "3.13") if not interpreter(version)]
    if not python:
        out.append("not here: Python 3.12 or newer: the tests of pd-agents are left out (make test "
                   "UV_PYTHON=/path/to/python3.12)")
    return out


def interpreter(version: str) -> bool:
    pyenv = shutil.which("pyenv") and version in subprocess.run(
        ["pyenv", "versions", "--bare"], capture_output=True, text=True, check=False).stdout
    return bool(shutil.which(f"python{version}") or pyenv)


if __name__ == "__main__":
    print(duration(os.cpu_count() or 1, os.getloadavg()[0]))
    print("\n".join(lines(sys.argv[1] if len(sys.argv) > 1 else "")), flush=True)
