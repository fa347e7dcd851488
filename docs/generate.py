"""The pages that make themselves: `make docs` writes them, a test says whether they are fresh.

docs/modules.md from the opening of every module's docstring; docs/flags.md from the parsers'
actions (what `--help` prints differs by version of Python and by width, the actions don't);
README's table of who was called what from the committed calibration.
"""

import argparse
import ast
import importlib
import json
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "docs")]

import stimuli  # noqa: E402

ROOMS = ("cirrus", "urrp", "common", "show", "stats")
HEAD = "Made by `make docs`; change the code instead.\n"


def modules(root: Path) -> dict[str, ast.Module]:
    """{"cirrus/ask/game.py": its tree} of every script and every module of the rooms."""
    files = [*root.glob("*.py"), *(path for room in ROOMS for path in (root / room).rglob("*.py"))]
    return {path.relative_to(root).as_posix(): ast.parse(path.read_text("utf-8"))
            for path in sorted(files)}


def opening(tree: ast.Module) -> str:
    """The first line of a module's docstring, and those after it until one ends a sentence."""
    lines = (ast.get_docstring(tree) or "").partition("\n\n")[0].splitlines()
    ends = next((n for n, line in enumerate(lines, 1) if line.endswith((".", "?"))), len(lines))
    return " ".join(lines[:ends])


def modules_page(root: Path = ROOT) -> str:
    """A table a folder: file, and what it says of itself."""
    folders: dict[str, list[str]] = {}
    for name, tree in modules(root).items():
        folder = name.rpartition("/")[0]
        folders.setdefault(folder, []).append(f"| `{name}` | {cell(opening(tree))} |")
    parts = [f"## {f'`{folder}/`' if folder else 'Scripts'}\n\n| file | what |\n|---|---|\n"
             + "\n".join(rows) + "\n" for folder, rows in sorted(folders.items())]
    return f"# Every module\n\n{HEAD}\n" + "\n".join(parts)


def scripts(root: Path = ROOT) -> list[str]:
    """The scripts at the top that take flags."""
    return sorted(path.stem for path in root.glob("*.py")
                  if "def arguments(" in path.read_text("utf-8"))


def actions(script: str) -> list[argparse.Action]:
    """What a script's parser knows, without parsing anything."""
    found: list[argparse.ArgumentParser] = []

    def keep(parser, *_):
        found.append(parser)
        raise SystemExit
    module = importlib.import_module(script)
    with mock.patch.object(argparse.ArgumentParser, "parse_args", keep), suppress(SystemExit):
        module.arguments([])
    return found[0]._actions


def flags_page(root: Path = ROOT) -> str:
    """A table a script: flag, what it takes, what it does."""
    parts = [f"## `{script}.py`\n\n| flag | takes | what |\n|---|---|---|\n"
             + "\n".join(map(flag_row, actions(script))) + "\n" for script in scripts(root)]
    return f"# Every flag\n\n{HEAD}\n" + "\n".join(parts)


def flag_row(action: argparse.Action) -> str:
    names = ", ".join(f"`{name}`" for name in action.option_strings) or f"`{action.metavar}`"
    value = action.metavar if action.option_strings and action.nargs != 0 else ""
    text = (action.help or "") % {"prog": "", "default": action.default} if action.help else ""
    return f"| {names} | {cell(str(value or ''))} | {cell(text)} |"


def cell(text: str) -> str:
    return " ".join(text.split()).replace("|", r"\|")


# --- README: who was called what ---------------------------------------------------------------

CALLED = ("coin", "label-biased", "length", "altruist", "reciprocal", "conformist", "additive",
          "additive-logit", "intention-kind", "causal-influence", "updateless", "superrational")
TOP = ("correlation-sensitive", "superrational")
BETWEEN = re.compile(r"(<!-- called: made by `make docs` -->\n).*?(<!-- /called -->)", re.S)


def called(calibration: dict) -> str:
    """What respondents of known behaviour were called by a mechanism study with its probes."""
    entries = {entry["population"]: entry for entry in calibration["mechanisms"]
               if entry["size"] == "m12"}
    rows = [f"| `{name}` | {cell(calibration['populations'][name])} | "
            f"{entries[name]['earned']['word']} | "
            + " | ".join(called_cell(entries[name], words) for words in (None, *TOP)) + " |"
            for name in CALLED]
    head = " | ".join(["respondent (SIMULATED)", "what it does", "earned",
                       "at most `cue-responsive`", *(f"`{word}`" for word in TOP)])
    return "\n".join([f"| {head} |", "|---|---|---|---|---|---|", *rows]) + "\n"


def called_cell(entry: dict, word: str | None) -> str:
    """ "3 of 100"; None: any other word."""
    shares = entry.get("probed", entry["words"])
    counts = {name: share["k"] for name, share in shares.items()}
    n = max(share["n"] for share in shares.values())
    k = counts[word] if word else sum(n for name, n in counts.items() if name not in TOP)
    return f"{k} of {n:,}" if k else "0"


def readme(root: Path = ROOT) -> str:
    text = (root / "README.md").read_text("utf-8")
    calibration = json.loads((root / "results/examples/calibration/calibration.json").read_bytes())
    return BETWEEN.sub(lambda found: found[1] + called(calibration) + found[2], text)


def pages(root: Path = ROOT) -> Iterator[tuple[Path, str]]:
    """(file, what it has to hold)."""
    yield root / "docs" / "modules.md", modules_page(root)
    yield root / "docs" / "flags.md", flags_page(root)
    yield root / "docs" / "stimuli.md", stimuli.page()
    yield root / "README.md", readme(root)


def main() -> None:
    for path, text in pages():
        path.write_text(text, encoding="utf-8", newline="\n")
        print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
