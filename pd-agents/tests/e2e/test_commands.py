"""The specification's acceptance commands, as a user types them, in processes of their own."""

import json
import subprocess
import sys

import pandas as pd


def typed(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "pdbench.cli", *arguments],
        text=True,
        capture_output=True,
        check=False,
    )


def test_validate_prints_a_short_summary(project):
    done = typed("validate", "configs/experiment.yaml")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(
        "valid: run default, seed 42, 21 conditions x 10 replicates"
    )
    assert "tft-vs-wsls" in done.stdout
    assert "SIMULATED" not in done.stdout
    assert not (project / "data").exists()


def test_run_with_two_replicates_leaves_the_required_files(project):
    done = typed("run", "configs/experiment.yaml", "--replicates", "2")
    assert done.returncode == 0, done.stderr
    run_dir = project / "data/runs/default"
    for name in ("rounds.jsonl", "run_manifest.json", "aggregates.parquet"):
        assert (run_dir / name).stat().st_size > 0
    manifest = json.loads((run_dir / "run_manifest.json").read_text())
    assert (manifest["status"], manifest["replicates"], manifest["stamp"]) == (
        "complete",
        2,
        None,
    )
    table = pd.read_parquet(run_dir / "aggregates.parquet")
    assert (table["level"] == "replicate").sum() == 21 * 2
    assert "progress rounds=" in done.stderr
    assert "SIMULATED" not in done.stdout

    done = typed("report", "data/runs/default")
    assert done.returncode == 0, done.stderr
    found, *files = done.stdout.splitlines()
    assert files == [
        "open data/runs/default/report.html",
        "data/runs/default/report.md",
    ]
    page = (run_dir / "report.html").read_text()
    assert found.rstrip(".") in page
    assert "<h2>Ranking</h2>" in page
    assert "SIMULATED" not in page


def test_the_demonstration_of_models_is_stamped_and_ranks_nobody(project, pdbench):
    assert "SIMULATED" in pdbench("run", "configs/models.yaml", "--replicates", "2")[1]
    assert pdbench("report", "data/runs/models")[0] == 0
    page = (project / "data/runs/models/report.html").read_text()
    assert "SIMULATED" in page
    assert "Ranking" not in page
    assert "This is no ranking" in page


def test_the_six_policies_meet_each_other_as_axelrods_do(project, pdbench):
    config = project / "configs/experiment.yaml"
    quiet = (
        config.read_text()
        .replace("noise: 0.02", "noise: 0")
        .replace("n: 100", "n: 200")
    )
    config.write_text(quiet)
    assert pdbench("run", "configs/experiment.yaml", "--replicates", "1")[0] == 0
    table = pd.read_parquet(project / "data/runs/default/aggregates.parquet")
    row = table.set_index("condition").loc["alld-vs-tft"].iloc[0]
    assert (row["total_payoff_agent_a"], row["total_payoff_agent_b"]) == (204, 199)
    row = table.set_index("condition").loc["alld-vs-wsls"].iloc[0]
    assert (row["total_payoff_agent_a"], row["total_payoff_agent_b"]) == (600, 100)


def test_ui_prints_the_exact_command(experiment, pdbench):
    pdbench("run", experiment())
    code, out, _ = pdbench("ui", "data/runs/test", "--port", "8777", "--print")
    assert code == 0
    assert "streamlit run" in out
    assert "--server.address=127.0.0.1 --server.port=8777" in out
    assert out.rstrip().endswith("-- data/runs/test")


def test_validate_loads_nothing_heavy(project):
    code = (
        "import sys; from pdbench import cli; sys.argv = ['pdbench', 'validate',"
        " 'configs/experiment.yaml']; code = cli.main(); print(code, sorted({'pandas',"
        " 'pyarrow', 'streamlit', 'litellm', 'openai'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], text=True, capture_output=True, check=False
    )
    assert done.stdout.splitlines()[-1] in ("0 []", "None []"), done.stderr
