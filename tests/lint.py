"""How large and how plain the code is, in nodes of its syntax trees.

    python3 tests/lint.py           # prints the sizes; warns where one has grown
    python3 tests/lint.py --hold    # for CI: exit code 1 where one has grown

Counted are nodes without annotations, docstrings and Load/Store marks, so that line
breaks and comments change nothing. A statement is counted without the statements inside
it; it is long with more than LONG nodes. A module's literal table counts in all, but is no
statement. Sizes are held against tests/limits.json with ROOM on top, so that a gate, a
domain or a respondent more is no reason to take something away.
"""

import ast
import json
import subprocess
import sys
from collections.abc import Container, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
LIMITS = Path(__file__).with_name("limits.json")
LONG = 16
ROOM = 1.03
NO_PRODUCT = {"tests", "benchmarks", "docs", "pd-agents", "vendor"}
UNCOUNTED = {"annotation", "returns", "ctx"}
TABLES = (ast.Dict, ast.List, ast.Tuple, ast.Set)


class Size(NamedTuple):
    nodes: int = 0
    statements: int = 0
    long: int = 0

    @property
    def long_share(self) -> float:
        return self.long / max(1, self.statements)


def children(node: ast.AST) -> Iterator[ast.AST]:
    for name, value in ast.iter_fields(node):
        if name in UNCOUNTED:
            continue
        parts = value if isinstance(value, list) else [value]
        yield from (part for part in parts if isinstance(part, ast.AST))


def nodes(node: ast.AST) -> int:
    """Nodes of a statement or expression, without the statements inside it."""
    inner = (part for part in children(node) if not isinstance(part, ast.stmt))
    return 1 + sum(map(nodes, inner))


def is_docstring(node: ast.stmt) -> bool:
    value = node.value if isinstance(node, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def is_table(node: ast.stmt) -> bool:
    """Whether the statement is a literal table of a module."""
    if node.col_offset or not isinstance(node, (ast.Assign, ast.AnnAssign)):
        return False
    return isinstance(node.value, TABLES)


def size(text: str) -> Size:
    """The size of a module's text."""
    total = statements = long = 0
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.stmt) or is_docstring(node):
            continue
        count = nodes(node)
        total += count
        if not is_table(node):
            statements += 1
            long += count > LONG
    return Size(total, statements, long)


def tracked(root: Path) -> list[str]:
    """Python files that git knows and that are there, by their path in the project."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "*.py"],
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    )
    names = listing.stdout.split("\0")
    return [name for name in names if name and (root / name).is_file()]


def part_of(name: str) -> str:
    """Which of the project's parts a file belongs to; "" where none is measured."""
    top, _, rest = name.partition("/")
    if top == "pd-agents":
        return {"src": "pd-agents", "tests": "pd-agents tests"}.get(
            rest.partition("/")[0], ""
        )
    if top == "tests":
        return "tests"
    return "" if top in NO_PRODUCT else "product"


def added(sizes: Iterable[Size]) -> Size:
    total = Size()
    for each in sizes:
        total = Size(*(a + b for a, b in zip(total, each, strict=True)))
    return total


def sizes(root: Path) -> dict[str, Size]:
    """{part: its size} of the project."""
    parts: dict[str, list[Size]] = {}
    for name in tracked(root):
        part = part_of(name)
        if not part or (part.startswith("pd-agents") and sys.version_info < (3, 12)):
            continue  # what a Python 3.11 cannot read
        text = (root / name).read_text("utf-8")
        parts.setdefault(part, []).append(size(text))
    return {part: added(measured) for part, measured in sorted(parts.items())}


def grown(now: dict[str, Size], limits: dict[str, dict[str, float]]) -> list[str]:
    """A line for each size that is past its limit and the room above it."""
    lines = []
    for part, measured in now.items():
        limit = limits[part]
        if measured.nodes > limit["nodes"] * ROOM:
            lines.append(f"{part}: {measured.nodes:,} nodes, was {limit['nodes']:,}")
        if measured.long_share > limit["long_share"] * ROOM:
            lines.append(
                f"{part}: {measured.long_share:.1%} of statements have more than "
                f"{LONG} nodes, was {limit['long_share']:.1%}"
            )
    return lines


def imports(name: str, text: str) -> Iterator[str]:
    """Everything that a module imports, inside functions too, by its full dotted name."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = name.split("/")[: -node.level] if node.level else []
            base = ".".join([*above, *filter(None, [node.module])])
            yield from (f"{base}.{alias.name}" for alias in node.names)


def owner(dotted: str, known: Container[str]) -> str:
    """The file of the project that `dotted` is in; "" of a package from elsewhere."""
    parts = dotted.split(".")
    for n in range(len(parts), 0, -1):
        for end in (".py", "/__init__.py"):
            path = "/".join(parts[:n]) + end
            if path in known:
                return path
    return ""


def main(flags: list[str]) -> int:
    now = sizes(ROOT)
    for part, measured in now.items():
        print(
            f"{part}: {measured.nodes:,} nodes, "
            f"{measured.long_share:.1%} long statements"
        )
    lines = grown(now, json.loads(LIMITS.read_text("utf-8")))
    for line in lines:
        print(f"larger than before: {line}", file=sys.stderr)
    return 1 if lines and "--hold" in flags else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
