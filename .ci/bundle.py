"""Build dist/cirrus-bench.pyz: every command in one file, for a bare Python.

    python3 .ci/bundle.py WHEELS    # a folder with the pure-Python wheels of requirements.txt

The file unpacks itself to a temporary folder: prompts are read as files, and a manifest hashes the
code that made it.
"""

import shutil
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "dist" / "cirrus-bench.pyz"
FOLDERS = ("common", "show", "stats", "cirrus", "urrp", "prompts", "config")
MAIN = '''"""cirrus-bench in one file: python3 cirrus-bench.pyz COMMAND [FLAGS]."""
import sys
if sys.version_info < (3, 11):
    sys.exit("cirrus-bench: Python 3.11 or newer is needed, this is %d.%d" % sys.version_info[:2])
import json
import os
import runpy
import tempfile
import zipfile
from pathlib import Path

COMMANDS = {
    "pilot": ("run_pilot", [], "the 2x2 study"),
    "mechanism": ("run_pilot", ["--design", "mechanism"], "what decides: desk or lot"),
    "tournament": ("run_tournament", [], "agents write policies and meet"),
    "analyze": ("analyze", [], "analyse or verify runs"),
    "adjudicate": ("adjudicate", [], "models rate policies, blind"),
    "calibrate": ("calibrate", [], "respondents whose behaviour is known: who is called what"),
    "urrp-run": ("urrp_run", [], "collect URRP trials"),
    "urrp": ("urrp_analyze", [], "analyse a file of URRP trials"),
}


def main(argv):
    if not argv or argv[0] not in COMMANDS:
        for name, (_, _, what) in COMMANDS.items():
            print(f"  {name:<12}{what}", file=sys.stderr if argv else sys.stdout)
        return f"cirrus-bench: {argv[0]!r} is no command; use one of these" if (
            argv and argv[0] not in ("-h", "--help")) else 0
    script, flags, _ = COMMANDS[argv[0]]
    os.environ["CIRRUS_BENCH_COMMANDS"] = json.dumps({
        name: f"{sys.argv[0]} {command}" for command, (name, more, _) in COMMANDS.items()
        if not more})
    with tempfile.TemporaryDirectory(prefix="cirrus-bench-") as folder:
        zipfile.ZipFile(Path(__file__).parent).extractall(folder)
        sys.path[:0] = [folder, f"{folder}/_vendor"]
        sys.argv = [f"{folder}/{script}.py", *flags, *argv[1:]]
        runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    said = main(sys.argv[1:])
    if isinstance(said, str):
        print(said, file=sys.stderr)
        sys.exit(2)
'''


def build(wheels: Path) -> Path:
    """The bundle; without wheels it does all but live calls, and says so."""
    with tempfile.TemporaryDirectory() as name:
        stage = Path(name)
        for folder in FOLDERS:
            shutil.copytree(
                ROOT / folder,
                stage / folder,
                ignore=shutil.ignore_patterns("__pycache__"),
            )
        for script in ROOT.glob("*.py"):
            shutil.copy(script, stage)
        for wheel in sorted(wheels.glob("*-none-any.whl")):
            zipfile.ZipFile(wheel).extractall(stage / "_vendor")
        (stage / "__main__.py").write_text(MAIN, encoding="utf-8")
        TARGET.parent.mkdir(exist_ok=True)
        pack(stage, TARGET)
    return TARGET


def pack(stage: Path, target: Path) -> None:
    """A folder as one file to run: the same bytes whenever and by whomever it is built."""
    with target.open("wb") as file:
        file.write(b"#!/usr/bin/env python3\n")
        with zipfile.ZipFile(file, "w") as archive:
            for path in sorted(path for path in stage.rglob("*") if path.is_file()):
                entry = zipfile.ZipInfo(path.relative_to(stage).as_posix())  # of 1980
                entry.external_attr = 0o644 << 16
                archive.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED)
    target.chmod(0o755)


if __name__ == "__main__":
    target = build(Path(sys.argv[1]))
    print(f"{target.relative_to(ROOT)}: {target.stat().st_size / 1e6:.1f} MB")
