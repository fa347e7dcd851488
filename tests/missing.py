"""How long `make test` takes here, and what this machine lacks of what tests can use: said before
anything is installed or run.

    python3 tests/missing.py PYTHON      # PYTHON: a 3.12 or newer for pd-agents, or ""
"""

import os
import shutil
import subprocess
import sys

CPU_MINUTES = 10  # of all tests of the scripts together
WANTED = {"chromium": "reports and viewer are not opened in a browser",
          "Rscript": "nothing is compared with R",
          "python3.12": "same bytes on it are not tried",
          "python3.13": "same bytes on it are not tried"}


def here(name: str, pyenv: str) -> bool:
    """Whether a program is on the path, or a Python among the versions that pyenv has."""
    version = name.removeprefix("python")
    return bool(shutil.which(name)) or (version != name and f"\n{version}." in f"\n{pyenv}")


def lines(python: str) -> list[str]:
    """One line for each thing that is not there, with what skips for it."""
    pyenv = subprocess.run(["pyenv", "versions", "--bare"], capture_output=True, text=True,
                           check=False).stdout if shutil.which("pyenv") else ""
    out = [f"not here: {name}: {what}" for name, what in WANTED.items() if not here(name, pyenv)]
    return out if python else [*out, "not here: Python 3.12 or newer: the tests of pd-agents are "
                               "left out (make test UV_PYTHON=/path/to/python3.12)"]


if __name__ == "__main__":
    cores = os.cpu_count() or 1
    print(f"make test: about {CPU_MINUTES / cores:.0f} minutes ({CPU_MINUTES} minutes of CPU on "
          f"{cores} cores), and what is installed first")
    print("\n".join(lines(sys.argv[1] if len(sys.argv) > 1 else "")), flush=True)
