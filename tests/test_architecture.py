"""docs/architecture.md is the house as it stands: who imports whom, every module, one word each.

The rules are read from the page's own table and held against every import of every module,
wherever in it the import stands.
"""

import ast
import os
import re
import sys
import tomllib
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
from conftest import ROOT

from cirrus.judge import prereg
from common import VERSION

PAGE = (ROOT / "docs" / "architecture.md").read_text("utf-8")
WRITTEN = {"acausal-summary.md", "pilot-summary.md", "calibration.md"}  # by a command
ROOMS = ("cirrus", "urrp", "common", "stats")


class Import(NamedTuple):
    """`late`: inside a function, so not when the module is loaded."""

    name: str
    late: bool


class Rule(NamedTuple):
    """What a floor may import: of the project, and {package: the one file that may}."""

    project: set[str]
    packages: dict[str, str]


# --- reading -----------------------------------------------------------------------------------

@cache
def modules(root):
    """{"cirrus/ask/game.py": its tree} of every script and every module of the rooms."""
    files = [*root.glob("*.py"), *(path for room in ROOMS for path in (root / room).glob("*.py"))]
    return {path.relative_to(root).as_posix(): ast.parse(path.read_text("utf-8"))
            for path in sorted(files)}


def floor(name):
    """"cirrus" of "cirrus/ask/game.py", "scripts" of "analyze.py"."""
    return name.partition("/")[0] if "/" in name else "scripts"


def imports(name, tree):
    """Everything that a module imports, by its full dotted name."""
    late = {id(node) for function in ast.walk(tree)
            if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
            for node in ast.walk(function)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(filter(None, (name.split("/")[0] if node.level else "", node.module)))
            found = [f"{base}.{alias.name}" for alias in node.names]
        else:
            found = by_name(node)
        yield from (Import(dotted, id(node) in late) for dotted in found)


def by_name(node):
    """["cirrus.ask.game"] of import_module("cirrus.ask.game"), however it is called."""
    if not isinstance(node, ast.Call):
        return []
    called = [getattr(part, "id", getattr(part, "attr", ""))
              for part in (node.func, *(keyword.value for keyword in node.keywords))]
    if not {"import_module", "__import__"} & set(called):
        return []
    return [part.value for part in ast.walk(node)
            if isinstance(part, ast.Constant) and isinstance(part.value, str)]


def owner(dotted, known):
    """The file of the project that `dotted` is in; "" of a package from elsewhere."""
    parts = dotted.split(".")
    tries = ("/".join(parts[:2]) + ".py", f"{parts[0]}/__init__.py", f"{parts[0]}.py")
    return next((path for path in tries if path in known), "")


def rules(page):
    """{floor: Rule} from the table under "Who may import whom"."""
    table = re.search(r"^## Who may import whom\n(.+?)^## ", page, re.M | re.S)[1]
    out = {}
    for row in re.findall(r"^\| (?!-)(?!floor)(.+) \|$", table, re.M):
        who, project, packages = (re.findall(r"`([^`]+)`", cell) for cell in row.split("|"))
        names = [word for word in packages if not word.endswith(".py")]
        files = [word for word in packages if word.endswith(".py")]
        out[who[0].rstrip("/")] = Rule({word.rstrip("/") for word in project},
                                       dict.fromkeys(names, *files))
    return out


# --- judging -----------------------------------------------------------------------------------

def violations(root, rules):
    """One line for every import that the rules forbid, and for every cycle inside a room."""
    trees, said = modules(root), []
    for name, tree in trees.items():
        own, rule = floor(name), rules[floor(name)]
        for dotted in dict.fromkeys(found.name for found in imports(name, tree)):
            top, path = dotted.split(".")[0], owner(dotted, trees)
            if path:
                if floor(path) not in rule.project | ({own} - {"scripts"}):
                    said.append(f"{name}: imports {dotted}; {own} may not import {floor(path)}")
            elif top not in sys.stdlib_module_names and rule.packages.get(top) != name:
                said.append(f"{name}: imports {dotted}; only the standard library may be used")
    return said + [f"{' → '.join(ring)}: a cycle" for ring in cycles(trees)]


def cycles(trees):
    """Rings of modules that load each other."""
    loads = {name: {path for found in imports(name, tree) if not found.late
                    if (path := owner(found.name, trees)) and path != name}
             for name, tree in trees.items()}
    done, rings = set(), []

    def walk(name, above):
        if name in above:
            rings.append([*above[above.index(name):], name])
        elif name not in done:
            for path in sorted(loads[name]):
                walk(path, [*above, name])
            done.add(name)
    for name in loads:
        walk(name, [])
    return rings


def rows(page):
    """[(file, what it says)] of the tables of modules."""
    return re.findall(r"^\| `([\w/]+\.py)` \| (.+) \|$", page, re.M)


def wanted_rows(root):
    """The same from the files: the opening of each docstring, as a cell of a table."""
    return [(name, opening(tree).replace("|", r"\|")) for name, tree in modules(root).items()]


def opening(tree):
    """The first line of a module's docstring, and those after it until one ends a sentence."""
    lines = (ast.get_docstring(tree) or "").partition("\n\n")[0].splitlines()
    ends = next((n for n, line in enumerate(lines, 1) if line.endswith((".", "?"))), len(lines))
    return " ".join(lines[:ends])


def listing(root, page):
    """One line for every module that the page leaves out, describes otherwise or makes up."""
    wanted, given = wanted_rows(root), rows(page)
    return ([f"docs/architecture.md lacks: | `{name}` | {what} |"
             for name, what in wanted if (name, what) not in given]
            + [f"docs/architecture.md: nothing is like this: | `{name}` | {what} |"
               for name, what in given if (name, what) not in wanted]
            + [f"docs/architecture.md: {name} stands there twice"
               for name, what in {row for row in given if given.count(row) > 1}])


# --- the house ---------------------------------------------------------------------------------

def test_no_module_imports_what_its_floor_may_not():
    assert "\n".join(violations(ROOT, rules(PAGE))) == ""


def test_the_page_lists_every_module_in_its_own_words_and_nothing_else():
    assert "\n".join(listing(ROOT, PAGE)) == ""


def test_every_floor_has_a_rule_and_the_ground_floors_know_nobody():
    read = rules(PAGE)
    assert set(read) == {"scripts", *ROOMS}
    assert read["common"].project == read["stats"].project == set()
    assert read["stats"].packages == {}


def test_requests_is_imported_in_one_module():
    users = {name for name, tree in modules(ROOT).items()
             if any(found.name.split(".")[0] == "requests" for found in imports(name, tree))}
    assert users == {"common/openrouter.py"}


def test_every_link_of_the_docs_leads_somewhere():
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    broken = [f"{page.relative_to(ROOT)}: {link}" for page in pages
              for link in re.findall(r"\]\((?!https?:)([^)#]+)[^)]*\)", page.read_text("utf-8"))
              if not (page.parent / link).exists()]
    assert broken == []


def files_of_the_project():
    """Every file below its folder, without environments and caches."""
    for folder, below, names in os.walk(ROOT):
        below[:] = [name for name in below if not name.startswith((".", "__"))]
        yield from (f"{folder}/{name}" for name in names)


def test_every_file_that_the_docs_name_is_there():
    there = [Path(file).as_posix() for file in files_of_the_project()]
    said = {name for page in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"))
            for name in re.findall(r"`((?:[a-z-]+/)*\w+\.(?:py|md|sh|toml|yaml))`", re.sub(
                r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.M | re.S))}
    assert {name for name in said - WRITTEN
            if not any(file.endswith(f"/{name}") for file in there)} == set()


def loaded_by(name, trees):
    """`name` and every module of the project that it imports, directly or not."""
    found, left = set(), [name]
    while left:
        found.add(name := left.pop())
        left += {path for own in imports(name, trees[name])
                 if (path := owner(own.name, trees))} - found
    return found


@pytest.mark.parametrize("name", ["cirrus/judge/study.py", "cirrus/judge/games.py",
                                  "common/parsing.py"])
def test_what_decides_a_result_is_registered_before_the_first_call(name):
    """Beside it: what writes and words things, asks, keeps and checks shapes."""
    registered = {file for part in prereg.hashes().values() for file in part}
    beside = {"cirrus/judge/prereg.py", "cirrus/judge/schema.py", "cirrus/reports/words.py"}
    missing = {path for path in loaded_by(name, modules(ROOT)) - registered - beside
               if not path.startswith("common/")}
    assert missing == set() and {"common/wire.py", "common/parsing.py", "common/rng.py",
                                 "common/refusal_cues.py"} <= registered


# --- the checker can fail ----------------------------------------------------------------------

CLEAN = {
    "run_it.py": '"""Runs it."""\ndef main():\n    from cirrus import play\n',
    "cirrus/__init__.py": '"""A room."""\n',
    "cirrus/play.py": '"""Plays."""\nimport json\nfrom common.ask import ask\nimport stats\n',
    "urrp/__init__.py": '"""A room."""\n',
    "common/__init__.py": '"""A ground floor."""\n',
    "common/ask.py": '"""Asks."""\nimport math\n',
    "common/openrouter.py": '"""Sends."""\ndef send():\n    import requests\n',
    "stats/__init__.py": '"""The other."""\nfrom .mean import mean\n',
    "stats/mean.py": '"""Means."""\nfrom math import fsum\n',
}


def house(folder, **changed):
    """CLEAN as files, with lines added to some (room__file → lines); a new file where none is."""
    files = dict(CLEAN)
    for name, lines in changed.items():
        path = name.replace("__", "/", 1) + ".py"
        files[path] = files.get(path, '"""New."""\n') + lines + "\n"
    for path, text in files.items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(text)
    return folder


def test_a_clean_house_has_no_violations(tmp_path):
    assert violations(house(tmp_path), rules(PAGE)) == []


@pytest.mark.parametrize(("changed", "said"), [
    ({"cirrus__play": "import run_it"}, "cirrus/play.py: imports run_it; cirrus may not"),
    ({"cirrus__play": "import urrp"}, "cirrus/play.py: imports urrp; cirrus may not"),
    ({"urrp__tell": "from cirrus.play import x"}, "urrp/tell.py: imports cirrus.play.x; urrp may"),
    ({"common__ask": "from stats import mean"}, "common/ask.py: imports stats.mean; common may"),
    ({"common__ask": "def f():\n    import cirrus.play"}, "common/ask.py: imports cirrus.play"),
    ({"stats__mean": "from common import ask"}, "stats/mean.py: imports common.ask; stats may"),
    ({"stats__mean": "def f():\n    from urrp import x"}, "stats/mean.py: imports urrp.x; stats"),
    ({"run_other": "import run_it"}, "run_other.py: imports run_it; scripts may not import scri"),
    ({"run_other": "from stats import mean"}, "run_other.py: imports stats.mean; scripts may not"),
    ({"common__ask": "import numpy"}, "common/ask.py: imports numpy; only the standard library"),
    ({"common__ask": "import requests"}, "common/ask.py: imports requests; only the standard"),
    ({"cirrus__play": "def f():\n    import distributed"}, "cirrus/play.py: imports distributed"),
    ({"common__ask": "from importlib import import_module\nimport_module('urrp')"},
     "common/ask.py: imports urrp; common may not"),
    ({"common__ask": "from threading import Thread\nimport importlib\n"
                     "Thread(target=importlib.import_module, args=('urrp.tell',))",
      "urrp__tell": ""}, "common/ask.py: imports urrp.tell"),
    ({"cirrus__play": "from cirrus import board", "cirrus__board": "from cirrus.play import x"},
     "cirrus/board.py → cirrus/play.py → cirrus/board.py: a cycle"),
    ({"stats__mean": "from .sum import s", "stats__sum": "from .mean import mean"},
     "stats/mean.py → stats/sum.py → stats/mean.py: a cycle"),
])
def test_the_checker_names_each_violation(tmp_path, changed, said):
    [line] = violations(house(tmp_path, **changed), rules(PAGE))
    assert line.startswith(said)


def test_a_late_import_makes_no_cycle(tmp_path):
    root = house(tmp_path, cirrus__play="from cirrus import board",
                 cirrus__board="def f():\n    from cirrus import play")
    assert violations(root, rules(PAGE)) == []


@pytest.mark.parametrize(("page", "said"), [
    ("", "docs/architecture.md lacks: | `common/ask.py` | Asks. |"),
    ("| `common/ask.py` | Sings. |", "docs/architecture.md: nothing is like this: "
                                     "| `common/ask.py` | Sings. |"),
    ("| `common/gone.py` | Asks. |", "docs/architecture.md: nothing is like this: "
                                     "| `common/gone.py` | Asks. |"),
    ("| `common/ask.py` | Asks. |\n" * 2, "docs/architecture.md: common/ask.py stands there twice"),
])
def test_a_page_that_is_not_the_house_is_told_so(tmp_path, page, said):
    assert said in listing(house(tmp_path), page)


# --- the pages beside it -----------------------------------------------------------------------

def test_the_version_is_one():
    said = re.search(r"^## (\S+) \(", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M)[1]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert said == project["version"] == VERSION
