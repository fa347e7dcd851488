"""What a command loads and runs of the project: modules, and distinct functions under a profiler.

    python3 docs/count.py run_pilot.py --provider simulated --out /tmp/somewhere
    python3 docs/count.py --files urrp_analyze.py urrp_runs.jsonl      # names the files too

And the size of the house: `python3 docs/count.py` alone counts files and lines of the product, and
lines of the tests.
"""

import runpy
import subprocess
import sys
import threading
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
APART = ("tests/", "benchmarks/", "docs/", "pd-agents/")  # not the product


def executed(argv: list[str]) -> tuple[set[str], set[tuple[str, int, str]]]:
    """(modules loaded, functions run) of the project by a script and its arguments."""
    codes = set()

    def note(frame, event, _):
        codes.add(frame.f_code)
    sys.argv = argv
    sys.path.insert(0, str(ROOT))
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        runpy.run_path(argv[0], run_name="__main__")
    except SystemExit:
        pass
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    inside = [code for code in codes if code.co_filename.startswith(f"{ROOT}/")
              and "/docs/" not in code.co_filename]
    functions = {(code.co_filename, code.co_firstlineno, code.co_name) for code in inside
                 if code.co_name != "<module>"}
    loaded = {name for module in list(sys.modules.values())
              if (name := str(getattr(module, "__file__", None) or "")).startswith(f"{ROOT}/")}
    return {name for name in loaded | {str(ROOT / argv[0])} if "/docs/" not in name}, functions


def tracked(*patterns: str) -> list[Path]:
    out = subprocess.run(["git", "ls-files", *patterns], cwd=ROOT, text=True, capture_output=True,
                         check=True).stdout
    return [ROOT / name for name in out.split()]


def size() -> str:
    product = [path for path in tracked("*.py")
               if not path.relative_to(ROOT).as_posix().startswith(APART)]
    tests = tracked("tests/*.py")
    lines = [sum(len(path.read_text("utf-8").splitlines()) for path in paths)
             for paths in (product, tests)]
    return f"product: {len(product)} files, {lines[0]:,} lines; tests: {lines[1]:,} lines"


def main(argv: list[str]) -> None:
    names = "--files" in argv
    argv = [arg for arg in argv if arg != "--files"]
    if not argv:
        print(size())
        return
    modules, functions = executed(argv)
    print(f"{len(modules)} modules loaded, {len(functions)} functions run "
          f"in {len({file for file, *_ in functions})} files", file=sys.stderr)
    if names:
        print("\n".join(sorted(name[len(str(ROOT)) + 1:] for name in modules)), file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1:])
