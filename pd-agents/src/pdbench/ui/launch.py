"""`pdbench ui`: start Streamlit on this machine, or say how to."""

import importlib.util
import os
import shlex
import sys
from pathlib import Path

from pdbench.core.types import ConfigError, RunError
from pdbench.storage.rounds import ROUNDS

APP = Path(__file__).with_name("streamlit_app.py")


def command(run_dir: Path, port: int) -> list[str]:
    """The exact command; it listens on 127.0.0.1 only and sends no usage statistics."""
    return [
        sys.executable, "-m", "streamlit", "run", str(APP),
        "--server.address=127.0.0.1", f"--server.port={port}", "--server.headless=true",
        "--browser.gatherUsageStats=false", "--client.toolbarMode=minimal", "--", str(run_dir),
    ]  # fmt: skip


def launch(run_dir: Path, port: int, show: bool) -> None:
    """Replace this process by the viewer; with `show`, print the command instead."""
    if not (run_dir / ROUNDS).exists():
        raise RunError(
            f"{run_dir}: no {ROUNDS}; name a folder that `pdbench run` wrote"
        )
    line = command(run_dir, port)
    if show:
        print(shlex.join(line))
        return
    if importlib.util.find_spec("streamlit") is None:
        raise ConfigError(
            f"ui: streamlit is not installed; run `uv sync`, then: {shlex.join(line)}"
        )
    sys.stdout.flush()
    os.execv(line[0], line)
