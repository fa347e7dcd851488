"""docs/architecture.md is the house as it stands: who imports whom; what docs name is there.

The rules are read from the page's own table and held against every import of every module,
wherever in it the import stands.
"""

import ast
import os
import re
import sys
import tomllib
from pathlib import Path
from typing import NamedTuple

import pytest
from conftest import ROOT

from common import VERSION

PAGE = (ROOT / "docs" / "architecture.md").read_text("utf-8")
WRITTEN = {"acausal-summary.md", "pilot-summary.md", "calibration.md", "round_N.md",
           "mine.py"}  # by a command or a user
ROOMS = ("cirrus", "urrp", "common", "show", "stats")


class Rule(NamedTuple):
    """What a floor may import: of the project, and {package: the one file that may}."""

    project: set[str]
    packages: dict[str, str]


# --- reading -----------------------------------------------------------------------------------

def modules(root):
    """{"cirrus/ask/game.py": its tree} of every script and every module of the rooms."""
    files = [*root.glob("*.py"), *(path for room in ROOMS for path in (root / room).rglob("*.py"))]
    return {path.relative_to(root).as_posix(): ast.parse(path.read_text("utf-8"))
            for path in sorted(files)}


def floor(name):
    """"cirrus" of "cirrus/ask/game.py", "scripts" of "analyze.py"."""
    return name.partition("/")[0] if "/" in name else "scripts"


def imports(name, tree):
    """Everything that a module imports, inside functions too, by its full dotted name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = name.split("/")[:-node.level] if node.level else []
            base = ".".join([*above, *filter(None, [node.module])])
            yield from (f"{base}.{alias.name}" for alias in node.names)
        else:
            yield from by_name(node)


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
    tries = ["/".join(parts[:n]) + end for n in range(len(parts), 0, -1)
             for end in (".py", "/__init__.py")]
    return next((path for path in tries if path in known), "")


def rules(page):
    """{floor: Rule} from the table under "Who may import whom"."""
    table = re.search(r"^## Who may import whom\n(.+?)^## ", page, re.M | re.S)[1]
    out = {}
    for row in re.findall(r"^\| (?!-)(?!floor)(.+) \|$", table, re.M):
        who, project, packages = row.split("|")
        allowed = {}
        for part in packages.split(";"):
            words = re.findall(r"`([^`]+)`", part)
            files = [word for word in words if word.endswith(".py")]
            allowed |= {word: files[0] for word in words if word not in files}
        out[re.findall(r"`([^`]+)`", who)[0].rstrip("/")] = Rule(
            {word.rstrip("/") for word in re.findall(r"`([^`]+)`", project)}, allowed)
    return out


# --- judging -----------------------------------------------------------------------------------

def violations(root, rules):
    """One line for every import that the rules forbid, and for every cycle inside a room."""
    trees, said = modules(root), []
    for name, tree in trees.items():
        own, rule = floor(name), rules[floor(name)]
        for dotted in dict.fromkeys(imports(name, tree)):
            top, path = dotted.split(".")[0], owner(dotted, trees)
            if path:
                if floor(path) not in rule.project | ({own} - {"scripts"}):
                    said.append(f"{name}: imports {dotted}; {own} may not import {floor(path)}")
            elif top not in sys.stdlib_module_names and rule.packages.get(top) != name:
                said.append(f"{name}: imports {dotted}; only the standard library may be used")
    return said + [f"{' → '.join(ring)}: a cycle" for ring in cycles(trees)]


def cycles(trees):
    """Rings of modules that need each other, at load or later."""
    loads = {name: {path for dotted in imports(name, tree)
                    if (path := owner(dotted, trees)) and path != name}
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


# --- the house ---------------------------------------------------------------------------------

def test_no_module_imports_what_its_floor_may_not():
    assert "\n".join(violations(ROOT, rules(PAGE))) == ""


def test_every_floor_has_a_rule_and_the_ground_floors_know_nobody():
    read = rules(PAGE)
    assert set(read) == {"scripts", *ROOMS}
    assert read["common"].project == read["stats"].project == read["show"].project == set()
    assert read["stats"].packages == {}


def test_requests_is_imported_in_one_module():
    users = {name for name, tree in modules(ROOT).items()
             if any(dotted.split(".")[0] == "requests" for dotted in imports(name, tree))}
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


def test_every_file_that_docs_and_code_name_is_there():
    there = [Path(file).as_posix() for file in files_of_the_project()]
    said = {name for page in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"))
            for name in re.findall(r"`((?:[a-z-]+/)*\w+\.(?:py|md|sh|toml|yaml))`", re.sub(
                r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.M | re.S))}
    for module in modules(ROOT):
        said |= set(re.findall(r"(?:\w+/)*\w+\.py\b", (ROOT / module).read_text("utf-8")))
    assert {name for name in said - WRITTEN
            if not any(file.endswith(f"/{name}") for file in there)} == set()


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
    "show/__init__.py": '"""The third."""\n',
    "stats/mean.py": '"""Means."""\nfrom math import fsum\n',
}


def house(folder, **changed):
    """CLEAN as files, with lines added to some (room__file → lines); a new file where none is."""
    files = dict(CLEAN)
    for name, lines in changed.items():
        path = name.replace("__", "/") + ".py"
        files[path] = files.get(path, '"""New."""\n') + lines + "\n"
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
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
    ({"cirrus__play": "from cirrus import board",
      "cirrus__board": "def f():\n    from cirrus import play"},
     "cirrus/board.py → cirrus/play.py → cirrus/board.py: a cycle"),
    ({"cirrus__play": "from cirrus.ask import pick", "cirrus__ask__pick": "import urrp"},
     "cirrus/ask/pick.py: imports urrp; cirrus may not"),
])
def test_the_checker_names_each_violation(tmp_path, changed, said):
    assert any(line.startswith(said)
               for line in violations(house(tmp_path, **changed), rules(PAGE)))


# --- the pages beside it -----------------------------------------------------------------------

def test_the_version_is_one():
    said = re.search(r"^## (\S+) \(", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M)[1]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert said == project["version"] == VERSION
