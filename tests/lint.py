"""The size of the project and its private words, held against the limits in tests/limits.json.

    python3 tests/lint.py            # prints the sizes; exit code 1 where a limit is passed
    python3 tests/lint.py --lower    # writes today's figures where they are lower; never raises one

Product is every tracked file that the project reads or runs. Tests, benchmarks, docs, prompts,
results, configuration, lock files and pd-agents/ are not product. A private word is one of WORDS as
a part of a name that the product defines; how often each still stands is a limit of its own.
"""

import ast
import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIMITS = Path(__file__).with_name("limits.json")
PRODUCT = {".py", ".json", ".css", ".js", ".html"}
ELSEWHERE = {"tests", "benchmarks", "docs", "prompts", "results", "config", "pd-agents", "vendor"}
# Pronouns, participles and metaphors: a name is a noun or a verb of the field.
WORDS = {"own", "one", "found", "said", "told", "asked", "kept", "heard", "unheard", "silent",
         "silence", "voice", "aside", "corner", "mind", "world", "scenes", "turn", "stand"}


def tracked(root: Path) -> list[str]:
    """Files that git knows and that are there, by their path in the project."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, text=True,
                           check=True).stdout.split("\0")
    return [name for name in names if name and (root / name).is_file()]


def is_product(name: str) -> bool:
    return Path(name).suffix in PRODUCT and name.split("/")[0] not in ELSEWHERE


def sizes(root: Path) -> dict[str, int]:
    """Lines and files of the product and of its tests, bytes of docs."""
    names = tracked(root)
    product = [name for name in names if is_product(name)]
    tests = [name for name in names if name.startswith("tests/") and name.endswith(".py")]
    docs = [name for name in names if name.startswith("docs/") and name.endswith(".md")
            and name != "docs/benchmarks.md"]    # made, not written
    return {"product_lines": sum(lines(root / name) for name in product),
            "product_files": len(product),
            "test_lines": sum(lines(root / name) for name in tests), "test_files": len(tests),
            "docs_files": len(docs),
            "docs_bytes": sum((root / name).stat().st_size for name in docs)}


def lines(path: Path) -> int:
    """Lines of a file. A table packed into long lines counts by its bytes, 100 to a line."""
    text = path.read_bytes()
    return max(text.count(b"\n"), len(text) // 100 if path.suffix != ".py" else 0)


def words(root: Path) -> dict[str, int]:
    """How many names that the product defines hold each private word."""
    count = Counter()
    for name in filter(is_product, tracked(root)):
        if name.endswith(".py"):
            tree = ast.parse((root / name).read_bytes())
            count.update(word for defined in names_defined(tree) for word in parts(defined)
                         if word in WORDS)
    return dict(sorted(count.items()))


def names_defined(tree: ast.AST) -> set[str]:
    """Functions, classes, arguments and variables of a module, each name once."""
    out = set()
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.arg(arg=name):
                out.add(name)
            case ast.Name(id=name, ctx=ast.Store()):
                out.add(name)
            case ast.Attribute(attr=name, ctx=ast.Store()):
                out.add(name)
            case ast.alias(asname=str(name)):
                out.add(name)
    return out


def parts(name: str) -> set[str]:
    """The words of a name: {"ask", "ahead"} of ask_ahead and of AskAhead."""
    return {part.lower() for part in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)}


def figures(root: Path) -> dict:
    return {**sizes(root), "private_words": words(root)}


def passed(now: dict, limits: dict) -> list[str]:
    """One line for each limit that is passed."""
    rows = [(key, now[key], limits[key]) for key in limits if key != "private_words"]
    rows += [(f"names with {word!r}", count, limits["private_words"].get(word, 0))
             for word, count in now["private_words"].items()]
    return [f"{what}: {count}, at most {limit}; take something away, the limit is never raised"
            for what, count, limit in rows if count > limit]


def lowered(now: dict, limits: dict) -> dict:
    """The limits, each as low as today's figure; a word that is gone may not come back."""
    words = {word: min(count, now["private_words"][word])
             for word, count in limits["private_words"].items() if word in now["private_words"]}
    return {key: min(limit, now[key]) for key, limit in limits.items()
            if key != "private_words"} | {"private_words": words}


def main(flags: list[str]) -> int:
    now, limits = figures(ROOT), json.loads(LIMITS.read_text("utf-8"))
    if flags == ["--lower"]:
        limits = lowered(now, limits)
        LIMITS.write_text(json.dumps(limits, indent=2) + "\n", "utf-8")
    print(f"product {now['product_lines']:,} lines in {now['product_files']} files (at most "
          f"{limits['product_lines']:,} in {limits['product_files']}); tests "
          f"{now['test_lines']:,} lines in {now['test_files']}; "
          f"docs {now['docs_bytes'] / 1000:.0f} kB in {now['docs_files']}")
    faults = passed(now, limits)
    for line in faults:
        print(f"tests/limits.json: {line}", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
