"""The server's own ledger never exceeds the limit; a higher one completes an aborted run."""

import gzip
import json
from collections import defaultdict

import pytest

FLAGS = ("--models", "double/a,double/b", "--runs", "6", "--out", "o")


def answered_by_block(folder):
    blocks = defaultdict(set)
    for row in map(json.loads, gzip.decompress(
            (folder / "trials.jsonl.gz").read_bytes()).splitlines()):
        blocks[row["model"], row["run"]].add(row["status"] != "not_run")
    return blocks


@pytest.mark.parametrize("hidden", [{}, {"show_cost": False}, {"show_prices": False}])
def test_an_abort_leaves_whole_blocks_and_a_higher_limit_completes(cli, double, tmp_path, hidden):
    flags = (*FLAGS, "--base-url", double.url)
    setup = {"greedy": True} | hidden
    double.script(**setup)
    assert cli("run_pilot.py", *flags, "--run-id", "whole").returncode == 0
    whole = double.ledger()["billed_usd"]

    double.script(**setup)
    aborted = cli("run_pilot.py", *flags, "--run-id", "cut", "--limit-usd", whole * 0.9)
    assert aborted.returncode == 4 and "give a higher --limit-usd" in aborted.stderr
    blocks = answered_by_block(tmp_path / "o" / "cut")
    assert all(len(kinds) == 1 for kinds in blocks.values()) and {True} in blocks.values()
    assert double.ledger()["billed_usd"] <= whole * 0.9

    again = cli("run_pilot.py", *flags, "--run-id", "cut", "--limit-usd", whole * 1.01)
    assert again.returncode == 0
    assert double.ledger()["billed_usd"] == pytest.approx(whole)  # nothing was asked twice


def test_a_server_that_charged_more_than_it_told_is_named_with_the_sum(cli, double):
    double.script(dearer=1000)
    run = cli("run_pilot.py", *FLAGS, "--base-url", double.url, "--limit-usd", 0.05)
    billed = double.ledger()["billed_usd"]
    assert billed > 0.05 and f"note: ${billed:.6f} was charged, more than the limit" in run.stderr
    assert run.returncode == 4
