"""docs/howto.md as it stands: its commands run, on copies of what they change."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT, clean_environment

PAGE = (ROOT / "docs" / "howto.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## (.+?)\n(.+?)(?=^## |\Z)", PAGE, re.M | re.S))
NOT_NEEDED = shutil.ignore_patterns(".*", "__pycache__", "benchmarks", "dist", "docs", "pd-agents",
                                    "results", "tests", "vendor")


@pytest.mark.parametrize("title", SECTIONS)
def test_the_commands_of_a_section_run(tmp_path, double, title):
    project = shutil.copytree(ROOT, tmp_path / "project", ignore=NOT_NEEDED)
    for code in re.findall(r"^```python\n(.*?)^```$", SECTIONS[title], re.M | re.S):
        (project / "mine.py").write_text(code, encoding="utf-8")
    commands = "".join(re.findall(r"^```sh\n(.*?)^```$", SECTIONS[title], re.M | re.S))
    assert commands
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(["sh", "-ec", commands.replace("http://127.0.0.1:8080/v1", double.url)
                           .replace("my-model", "double/a")],
                          cwd=project, capture_output=True, text=True, check=False,
                          env=clean_environment() | {"PATH": path})
    assert done.returncode == 0, done.stderr
