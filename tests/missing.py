"""What this machine lacks of what tests can use: said before anything is installed or run.

    python3 tests/missing.py PYTHON      # PYTHON: a 3.12 or newer for pd-agents, or ""
"""

import shutil
import subprocess
import sys

WANTED = {
    ("chromium",): "reports and viewer are not opened in a browser",
    ("Rscript",): "nothing is compared with R",
}


def lines(python: str) -> list[str]:
    """One line for each thing that is not there, with what skips for it."""
    out = [f"not here: {names[0]}: {what}" for names, what in WANTED.items()
           if not any(map(shutil.which, names))]
    for version in ("3.12", "3.13"):
        if not interpreter(version):
            out.append(f"not here: Python {version}: same bytes on it are not tried")
    if not python:
        out.append("not here: Python 3.12 or newer: the tests of pd-agents are left out (make test "
                   "UV_PYTHON=/path/to/python3.12)")
    return out


def interpreter(version: str) -> bool:
    pyenv = shutil.which("pyenv") and version in subprocess.run(
        ["pyenv", "versions", "--bare"], capture_output=True, text=True, check=False).stdout
    return bool(shutil.which(f"python{version}") or pyenv)


if __name__ == "__main__":
    print("\n".join(lines(sys.argv[1] if len(sys.argv) > 1 else "")))
