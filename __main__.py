"""Run any script of the project as a command of one program.

    cirrus-bench pilot --dry-run                   installed
    python3 dist/cirrus-bench.pyz pilot --dry-run  one file, which `make bundle` makes
    python3 . pilot --dry-run                      a checkout

Commands write below the current folder.
"""

import sys
import tempfile
import zipfile
from pathlib import Path
from runpy import run_path

COMMANDS = {
    "pilot": ("run_pilot.py", "one-shot decisions, in five designs"),
    "tournament": ("run_tournament.py", "agents write policies and meet"),
    "analyze": ("analyze.py", "analyse or verify runs"),
    "adjudicate": ("adjudicate.py", "models rate policies, blind"),
    "calibrate": ("calibrate.py", "what is said of respondents that are known"),
    "urrp-run": ("urrp_run.py", "collect URRP trials"),
    "urrp-analyze": ("urrp_analyze.py", "analyse a file of URRP trials"),
}


def main() -> None:
    """Run the command that is named first on the command line, or list all."""
    command = sys.argv[1] if len(sys.argv) > 1 else "--help"
    if command in ("-h", "--help"):
        print("usage: cirrus-bench COMMAND [flags]; COMMAND --help lists the flags\n")
        for name, (_, does) in COMMANDS.items():
            print(f"  {name:<14}{does}")
    elif command in COMMANDS:
        run(command)
    else:
        print(
            f"error: {command!a} is no command; use one of {', '.join(COMMANDS)}",
            file=sys.stderr,
        )
        sys.exit(2)


def run(command: str) -> None:
    """Run a command's script from the folder of this file. A bundle is unpacked into a
    temporary folder first, because prompts are read as files."""
    folder = Path(__file__).resolve().parent
    if folder.is_dir():
        run_script(folder, command)
        return
    with tempfile.TemporaryDirectory(prefix="cirrus-bench-") as unpacked:
        with zipfile.ZipFile(folder) as bundle:
            bundle.extractall(unpacked)
        run_script(Path(unpacked), command)


def run_script(folder: Path, command: str) -> None:
    """Run a command's script as if it had been started itself."""
    # Only this process finds `common` and `stats` under these names.
    sys.path.insert(0, str(folder))
    from common import cli

    cli.program = started_as()
    script, _ = COMMANDS[command]
    del sys.argv[1]
    run_path(str(folder / script), run_name="__main__")


def started_as() -> str:
    """Return what the user typed before the command's name."""
    program = Path(sys.argv[0])
    if program.name in ("cirrus-bench", "cirrus-bench.exe"):
        return "cirrus-bench"
    return f"python3 {program}"


if __name__ == "__main__":
    main()
