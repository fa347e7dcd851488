"""How long `make test` takes here, and what this machine lacks of what tests can use: said before
anything is installed or run.

    python3 tests/missing.py PYTHON      # PYTHON: a 3.12 or newer for pd-agents, or ""
"""

import os
import shutil
import sys
from pathlib import Path

CPU_MINUTES = 10  # of all tests of the scripts together
WANTED = {
    "chromium": "reports and viewer are not opened in a browser",
    "Rscript": "nothing is compared with R",
    "python3.12": "same bytes on it are not tried",
    "python3.13": "same bytes on it are not tried",
}
PYENV = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"

if __name__ == "__main__":
    cores = os.cpu_count() or 1
    print(
        f"make test: about {CPU_MINUTES / cores:.0f} minutes ({CPU_MINUTES} minutes of CPU on "
        f"{cores} cores), and what is installed first"
    )
    for name, what in WANTED.items():
        versions = PYENV.glob(f"{name.removeprefix('python')}.*")
        if not shutil.which(name) and not any(versions):
            print(f"not here: {name}: {what}")
    if not "".join(sys.argv[1:]):
        print(
            "not here: Python 3.12 or newer: the tests of pd-agents are left out (make test "
            "UV_PYTHON=/path/to/python3.12)"
        )
