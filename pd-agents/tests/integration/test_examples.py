"""The committed run of a real model: what is derived from its rounds comes out as committed."""

import json
import shutil

import pyarrow.parquet as pq
import pytest

from support import CONFIGS

EXAMPLE = CONFIGS.parent / "data" / "examples" / "local-smollm2"


@pytest.fixture
def copy(tmp_path):
    return shutil.copytree(EXAMPLE, tmp_path / "example")


def test_aggregates_and_reports_are_a_function_of_rounds_and_manifest(copy, pdbench):
    for name in ("aggregates.parquet", "report.html", "report.md"):
        (copy / name).unlink()
    assert pdbench("aggregate", copy)[0] == 0
    assert pdbench("report", copy)[0] == 0
    assert pq.read_table(copy / "aggregates.parquet").equals(
        pq.read_table(EXAMPLE / "aggregates.parquet")
    )
    for name in ("report.html", "report.md"):
        assert (copy / name).read_text() == (EXAMPLE / name).read_text()


def test_it_is_what_its_readme_says():
    lines = [json.loads(x) for x in (EXAMPLE / "rounds.jsonl").read_text().splitlines()]
    answers = {True: [], False: []}
    for line in lines:
        answers["choice" in line["condition"]] += line["attempts"]["agent_a"]
    invalid = {k: sum(x["action"] is None for x in v) for k, v in answers.items()}
    assert (len(answers[False]), invalid[False]) == (36, 36)
    assert (len(answers[True]), invalid[True]) == (85, 58)
    assert not any(line["simulated"] for line in lines)
    assert (
        sum(line["round_index"] == 9 and line["status"] == "ok" for line in lines) == 2
    )
