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
from collections import Counter, defaultdict
from collections.abc import Container, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIMITS = Path(__file__).with_name("limits.json")
LONG = 16
ROOM = 1.03
NO_PRODUCT = {"tests", "benchmarks", "docs", "pd-agents", "vendor"}
UNCOUNTED = {"annotation", "returns", "ctx"}
TABLES = (ast.Dict, ast.List, ast.Tuple, ast.Set)


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


def size(text: str) -> Counter[str]:
    """{"nodes", "statements", "long": how many} of a module's text."""
    counts: Counter[str] = Counter()
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.stmt) or is_docstring(node):
            continue
        count = nodes(node)
        counts["nodes"] += count
        if not is_table(node):
            counts["statements"] += 1
            counts["long"] += count > LONG
    return counts


def long_share(counts: Counter[str]) -> float:
    return counts["long"] / max(1, counts["statements"])


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


def sizes(root: Path) -> dict[str, Counter[str]]:
    """{part: its size} of the project."""
    parts: dict[str, Counter[str]] = defaultdict(Counter)
    for name in tracked(root):
        part = part_of(name)
        if not part or (part.startswith("pd-agents") and sys.version_info < (3, 12)):
            continue  # what a Python 3.11 cannot read
        parts[part] += size((root / name).read_text("utf-8"))
    return dict(sorted(parts.items()))


def grown(
    now: dict[str, Counter[str]], limits: dict[str, dict[str, float]]
) -> list[str]:
    """A line for each size that is past its limit and the room above it."""
    lines = []
    for part, counts in now.items():
        limit, share = limits[part], long_share(counts)
        if counts["nodes"] > limit["nodes"] * ROOM:
            lines.append(f"{part}: {counts['nodes']:,} nodes, was {limit['nodes']:,}")
        if share > limit["long_share"] * ROOM:
            lines.append(
                f"{part}: {share:.1%} of statements have more than "
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
    for part, counts in now.items():
        share = long_share(counts)
        print(f"{part}: {counts['nodes']:,} nodes, {share:.1%} long statements")
    lines = grown(now, json.loads(LIMITS.read_text("utf-8")))
    for line in lines:
        print(f"larger than before: {line}", file=sys.stderr)
    return 1 if lines and "--hold" in flags else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
