"""The size of the project, held against tests/limits.json, and its names: none has a private word.

    python3 tests/lint.py    # prints the sizes; exit code 1 where a limit is passed

Product is every tracked file that the project reads or runs. Tests, benchmarks, docs, prompts,
results, configuration, lock files and pd-agents/ are not product. A private word is one of WORDS as
a part of a name that the product defines.
"""

import ast
import json
import re
import subprocess
import sys
from collections.abc import Container, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIMITS = Path(__file__).with_name("limits.json")
PRODUCT = {".py", ".json", ".css", ".js", ".html"}
ELSEWHERE = {"tests", "benchmarks", "docs", "prompts", "results", "config", "pd-agents", "vendor"}
# Pronouns, participles and metaphors: a name is a noun or a verb of the field.
WORDS = {"own", "one", "found", "said", "told", "asked", "kept", "heard", "unheard", "silent",
         "silence", "voice", "aside", "corner", "mind", "world", "scenes", "turn", "stand"}
PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")   # "ask" and "ahead" of ask_ahead and AskAhead


def tracked(root: Path) -> list[str]:
    """Files that git knows and that are there, by their path in the project."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, text=True,
                           check=True).stdout.split("\0")
    return [name for name in names if name and (root / name).is_file()]


def product(root: Path) -> list[str]:
    return [name for name in tracked(root) if Path(name).suffix in PRODUCT
            and name.split("/")[0] not in ELSEWHERE]


def sizes(root: Path) -> dict[str, int]:
    """Lines and files of the product and of its tests, bytes of docs."""
    names = tracked(root)
    tests = [name for name in names if name.startswith("tests/") and name.endswith(".py")]
    docs = [name for name in names if name.startswith("docs/") and name.endswith(".md")
            and name != "docs/benchmarks.md"]    # made, not written
    return {"product_lines": sum(lines(root / name) for name in product(root)),
            "product_files": len(product(root)),
            "test_lines": sum(lines(root / name) for name in tests), "test_files": len(tests),
            "docs_files": len(docs),
            "docs_bytes": sum((root / name).stat().st_size for name in docs)}


def lines(path: Path) -> int:
    """Lines of a file. A table packed into long lines counts by its bytes, 100 to a line."""
    text = path.read_bytes()
    return max(text.count(b"\n"), len(text) // 100 if path.suffix != ".py" else 0)


def private_names(root: Path) -> list[str]:
    """ "a.py: own_x" for every name of the product with one of WORDS as a part."""
    return [f"{path}: {name}" for path in product(root) if path.endswith(".py")
            for name in sorted(set(names_defined(ast.parse((root / path).read_bytes()))))
            if WORDS & {part.lower() for part in PART.findall(name)}]


def names_defined(tree: ast.AST) -> Iterator[str]:
    """Functions, classes, arguments and variables of a module."""
    for node in ast.walk(tree):
        match node:
            case (ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.arg(arg=name)
                  | ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store())
                  | ast.alias(asname=str(name))):
                yield name


def imports(name: str, text: str) -> Iterator[str]:
    """Everything that a module imports, inside functions too, by its full dotted name."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = name.split("/")[:-node.level] if node.level else []
            base = ".".join([*above, *filter(None, [node.module])])
            yield from (f"{base}.{alias.name}" for alias in node.names)


def owner(dotted: str, known: Container[str]) -> str:
    """The file of the project that `dotted` is in; "" of a package from elsewhere."""
    parts = dotted.split(".")
    paths = ["/".join(parts[:n]) + end for n in range(len(parts), 0, -1)
             for end in (".py", "/__init__.py")]
    return next((path for path in paths if path in known), "")


def faults(root: Path, limits: dict[str, int]) -> list[str]:
    """A line for each limit that is passed and each private word."""
    now = sizes(root)
    return [f"{what}: {now[what]}, at most {limit}; take something away, the limit is never raised"
            for what, limit in limits.items() if now[what] > limit] + [
        f"{name}: a private word" for name in private_names(root)]


def main() -> int:
    now, limits = sizes(ROOT), json.loads(LIMITS.read_text("utf-8"))
    print(f"product {now['product_lines']:,} lines in {now['product_files']} files (at most "
          f"{limits['product_lines']:,} in {limits['product_files']}); tests "
          f"{now['test_lines']:,} lines in {now['test_files']}; "
          f"docs {now['docs_bytes'] / 1000:.0f} kB in {now['docs_files']}")
    passed = faults(ROOT, limits)
    print("\n".join(passed), file=sys.stderr)
    return 1 if passed else 0


if __name__ == "__main__":
    sys.exit(main())
