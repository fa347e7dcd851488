"""docs/architecture.md is the house as it stands: who imports whom.

The rules are read from the page's own table and held against every import, wherever it stands.
"""

import re
import sys
from graphlib import CycleError, TopologicalSorter

import lint
from conftest import ROOT

PAGE = (ROOT / "docs" / "architecture.md").read_text("utf-8")
READER = "urrp_analyze.py"  # a script that stands alone, and is a module too
ROOMS = ("cirrus", "urrp", "common", "show", "stats")
# Imported where --html asks for it, by the script that otherwise runs alone.
WHERE_ASKED = {READER: {"urrp/report.py"}}


def modules():
    """{"cirrus/ask/game.py": its text} of every script and every module of the rooms."""
    files = list(ROOT.glob("*.py"))
    for room in ROOMS:
        files += (ROOT / room).rglob("*.py")
    return {
        path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in files
    }


def floor(name):
    """ "cirrus" of "cirrus/ask/game.py", "scripts" of "analyze.py"."""
    return name.partition("/")[0] if "/" in name else "scripts"


def rules():
    """{floor: (floors that it may import, {package: the one file that may})} from the table."""
    table = re.search(r"^## Who may import whom\n(.+?)^## ", PAGE, re.M | re.S)[1]
    out = {}
    for row in re.findall(r"^\| (`.+) \|$", table, re.M):
        who, floors, packages = (
            re.findall(r"`([^`]+?)/?`", cell) for cell in row.split("|")
        )
        allowed, waiting = {}, []
        for word in packages:  # packages, then the file that may import them
            waiting.append(word)
            if word.endswith(".py"):
                allowed |= dict.fromkeys(waiting, word)
                waiting = []
        out[who[0]] = set(floors), allowed
    return out


def violations(texts):
    """A line for every import that the rules forbid, and for a cycle."""
    faults, loads, may = [], {}, rules()
    for name, text in texts.items():
        floors, packages = may[floor(name)]
        if floor(name) != "scripts":
            floors = {*floors, floor(name)}
        loads[name] = set()
        for dotted in lint.imports(name, text):
            path = lint.owner(dotted, texts)
            package = dotted.partition(".")[0]
            if path:
                loads[name] |= {path} - {name} - WHERE_ASKED.get(name, set())
                allowed = path == READER or floor(path) in floors
            else:
                known = package in sys.stdlib_module_names
                allowed = known or packages.get(package) == name
            if not allowed:
                faults.append(f"{name}: imports {dotted}; {floor(name)} may not")
    try:
        TopologicalSorter(loads).prepare()
    except CycleError as error:
        faults.append(f"a cycle: {', '.join(sorted(set(error.args[1])))}")
    return faults


def test_no_module_imports_what_its_floor_may_not():
    assert violations(modules()) == [] and set(rules()) == {"scripts", *ROOMS}
    for room in ("common", "show", "stats"):
        floors, _ = rules()[room]
        assert not floors
