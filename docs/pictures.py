#!/usr/bin/env python3
"""docs/images: every report as a reader first sees it.

    .venv/bin/python docs/pictures.py

Needs playwright and Chromium. All of it is simulated, from the default seeds; a minute or two.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
SIZE = {"width": 1100, "height": 760}
COMMANDS = (
    ("run_pilot.py", "--run-id", "mechanism", "--design", "mechanism"),
    ("run_tournament.py", "--plan", "confirmatory"),
    ("analyze.py", "results/acausal/confirmatory-s42"),
    ("urrp_run.py", "--run-id", "urrp"),
    ("urrp_analyze.py", "urrp_runs.jsonl", "--html", "u.html"),
)
PAGES = {
    "mechanism-report.png": "results/pilot/mechanism/report.html",
    "tournament-report.png": "results/acausal/confirmatory-s42/report.html",
    "urrp-report.png": "u.html",
}


def photograph(folder: Path) -> None:
    """The first screen of each page."""
    with sync_playwright() as play:
        browser = play.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        for picture, page in PAGES.items():
            tab = browser.new_page(viewport=SIZE)
            tab.goto((folder / page).as_uri())
            tab.screenshot(path=IMAGES / picture)
        browser.close()


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for script, *flags in COMMANDS:
            provider = (
                [] if script.endswith("analyze.py") else ["--provider", "simulated"]
            )
            subprocess.run(
                [sys.executable, ROOT / script, *flags, *provider],
                cwd=folder,
                check=True,
                stdout=subprocess.DEVNULL,
            )
        photograph(folder)


if __name__ == "__main__":
    main()
