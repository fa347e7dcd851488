"""analyze.py RUN --paper DIR, of runs as their users have them."""

import csv
import json
import re
import shutil
from pathlib import Path

import pytest
from conftest import ROOT

EXAMPLES = ROOT / "results" / "examples"


def written(cli, tmp_path, run):
    done = cli("analyze.py", run, "--out", "out", "--paper", "paper")
    assert done.returncode == 0, done.stderr
    return {
        path.name: path.read_text("utf-8") for path in Path(tmp_path, "paper").iterdir()
    }


@pytest.mark.parametrize(
    ("run", "row"),
    [
        ("mechanism", r"sim-coin & not shown & +0.2 ($-$18.5 to +18.8) & 20 \\"),
        ("confirmatory", r"the same, hospital & +53.9 (+43.3 to +64.6) & 0 of 8 \\"),
    ],
)
def test_a_paper_has_a_paragraph_a_table_figures_and_a_citation(
    run, row, cli, tmp_path
):
    files = written(cli, tmp_path, EXAMPLES / run)
    assert row in files["table.tex"].splitlines()
    assert "−" not in files["table.tex"]
    assert not re.search(r"(?<!\\)[%&#_](?! |\w* &|.usepackage)", files["table.tex"])
    rules = re.findall(r"\\(\w+rule)", files["table.tex"])
    assert rules == ["toprule", "midrule", "bottomrule"]
    assert any(name.endswith(".svg") for name in files)
    assert files["cite.bib"].startswith("@software{")
    methods = files["methods.md"]
    manifests = [
        json.loads(path.read_text())
        for path in EXAMPLES.glob(f"{run}/**/manifest.json")
    ]
    assert len(methods.splitlines()) == 1 and "not preregistered" in methods
    for manifest in manifests:
        assert manifest["merkle_root"][:16] in methods
        assert all(model in methods for model in manifest["served"])
    assert "temperature 0.7" in methods and "SIMULATED" in methods
    for name, text in files.items():
        if name.endswith(".csv"):
            rows = list(csv.DictReader(text.splitlines()))
            assert all(float(row["estimate"]) == float(row["estimate"]) for row in rows)


def test_a_preregistration_is_posted_before_and_after_the_first_call(cli, tmp_path):
    size = ("--runs", 1, "--models", "sim-coin", "--out", ".", "--run-id", "run")
    made = cli("run_pilot.py", *size, "--preregister", "--json")
    [entry] = json.loads(made.stdout)["preregistered"]
    assert cli("analyze.py", "run", "--paper", "before").returncode == 0
    assert [path.name for path in (tmp_path / "before").iterdir()] == [
        "preregistration.md"
    ]
    text = (tmp_path / "before" / "preregistration.md").read_text("utf-8")
    assert entry["sha256"] in text and "HP - LA" in text and "sim-coin" in text
    assert cli("run_pilot.py", *size).returncode == 0
    files = written(cli, tmp_path, "run")
    assert files["preregistration.md"] == text
    assert (
        "confirmatory" in files["methods.md"] and entry["sha256"] in files["methods.md"]
    )


def test_an_upstream_that_nobody_named_is_called_so(cli, tmp_path):
    shutil.copytree(ROOT / "results/examples/pilot-smollm2", tmp_path / "run")
    assert cli("analyze.py", "run", "--paper", "paper").returncode == 0
    text = (tmp_path / "paper/methods.md").read_text("utf-8")
    assert "Upstreams: smollm2-135m (not named)." in text
