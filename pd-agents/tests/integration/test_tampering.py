"""Does everything in a run's folder follow from its configuration and its rounds? Each attack is
tried on a finished run; the first line of the answer has to name what is wrong. What cannot be
found is a test too, and stands in the README.
"""

import json
import os
import shutil

import pytest

from conftest import pair
from pdbench.config.load import snapshot_sha256
from support import CONFIGS

EXAMPLE = CONFIGS.parent / "data" / "examples" / "local-smollm2"
MANIFEST, ROUNDS = "run_manifest.json", "rounds.jsonl"


@pytest.fixture
def run_dir(experiment, pdbench, project):
    model = {"strategy": "coin", "invalid_rate": 0.2, "max_retries": 8}
    path = experiment(
        [pair("a", model, "TFT"), pair("b", "GTFT", "ALLD")],
        run={"replicates": 2},
        horizon={"type": "fixed", "n": 4},
    )
    assert pdbench("run", path)[0] == 0
    return project / "data/runs/test"


def text(name, *changes):
    """Replace texts of a file; each has to be there."""

    def attack(run_dir):
        data = (run_dir / name).read_text()
        for old, new in changes:
            assert old in data
            data = data.replace(old, new, 1)
        (run_dir / name).write_text(data)

    return attack


def data(change, mend=False):
    """Change the manifest as an object, written in its own form; `mend` its hash too."""

    def attack(run_dir):
        manifest = json.loads((run_dir / MANIFEST).read_text())
        change(manifest)
        if mend:
            manifest["config_sha256"] = snapshot_sha256(manifest["config"])
        (run_dir / MANIFEST).write_text(
            json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"
        )

    return attack


def put(*keys, value):
    def change(manifest):
        for key in keys[:-1]:
            manifest = manifest[key]
        manifest[keys[-1]] = value

    return change


def drop(*keys):
    def change(manifest):
        for key in keys[:-1]:
            manifest = manifest[key]
        del manifest[keys[-1]]

    return change


def rename(old, new):
    def change(manifest):
        items = [(new if key == old else key, value) for key, value in manifest.items()]
        manifest.clear()
        manifest.update(items)

    return change


def set_back(manifest):
    """A finished run called interrupted, as its manifest was before its end."""
    manifest["status"] = "interrupted"
    for key in ("matches", "incomplete_matches", "rounds", "model_calls"):
        del manifest[key]


def cut(run_dir, lines):
    kept = (run_dir / ROUNDS).read_text().splitlines(keepends=True)[:-lines]
    (run_dir / ROUNDS).write_text("".join(kept))


def both(*attacks):
    def attack(run_dir):
        for step in attacks:
            step(run_dir)

    return attack


def add(name, content="", mode="w"):
    def attack(run_dir):
        with (run_dir / name).open(mode) as file:
            file.write(content)

    return attack


def link(name, target):
    def attack(run_dir):
        (run_dir / name).unlink()
        (run_dir / name).symlink_to(target)

    return attack


def pipe(name):
    def attack(run_dir):
        (run_dir / name).unlink(missing_ok=True)
        os.mkfifo(run_dir / name)

    return attack


def moved(name):
    def attack(run_dir):
        copy = run_dir.parent / name
        (run_dir / name).rename(copy)
        (run_dir / name).symlink_to(copy)

    return attack


FOUND = {
    "manifest: an unknown key": data(put("note", value=1)),
    "manifest: a key twice": text(MANIFEST, ("{\n", '{\n  "seed": 8,\n')),
    "manifest: a key twice, deeper": text(
        MANIFEST, ('"CC": [', '"CC": [\n9, 9],\n"CC": [')
    ),
    "manifest: other spaces": text(MANIFEST, ("  ", "\t")),
    "manifest: a byte order mark": text(MANIFEST, ("{", "\ufeff{")),
    "manifest: a line after its end": add(MANIFEST, "\n", "a"),
    "manifest: a key is gone": data(drop("simulated_conditions")),
    "manifest: a key is renamed": data(rename("rounds", "turns")),
    "manifest: an unproven key is gone": data(drop("unproven", "elapsed_s")),
    "manifest: an unproven key is unknown": data(put("unproven", "who", value="me")),
    "manifest: a time is no time": data(put("unproven", "created_utc", value="today")),
    "manifest: sessions are below one": data(put("unproven", "sessions", value=0)),
    "manifest: seconds are no number": data(put("unproven", "elapsed_s", value="4")),
    "manifest: a package without a version": data(
        put("unproven", "environment", "packages", "pyyaml", value=None)
    ),
    "config: an unknown key": data(put("config", "run", "note", value=1), mend=True),
    "config: an unknown key of a condition": data(
        put("config", "conditions", "a", "note", value=1), mend=True
    ),
    "config: an unknown key of an agent": data(
        put("config", "conditions", "a", "agent_a", "note", value=1), mend=True
    ),
    "config: a key is gone": data(drop("config", "run", "store_prompts"), mend=True),
    "config: a number for a truth": data(
        put("config", "run", "store_prompts", value=1), True
    ),
    "config: another temperature's kind": data(
        put(
            "config", "conditions", "a", "agent_a", "provider", "temperature", value="0"
        ),
        True,
    ),
    "config: another metric's name": data(
        put("config", "metrics", "names", value=["x"]), True
    ),
    "status set back": data(put("status", value="interrupted")),
    "status set back, as before the end, with rounds cut": both(
        data(set_back), lambda run_dir: cut(run_dir, 3)
    ),
    "rounds: a torn line after the end": add(ROUNDS, '{"run_id":', "a"),
    "rounds: other spaces": text(ROUNDS, ('"run_id":', '"run_id": ')),
    "rounds: other spaces, further on": text(ROUNDS, ('"agent_b":', '"agent_b": ')),
    "rounds: a number in another form": text(
        ROUNDS, ('"agent_a_payoff":3.0', '"agent_a_payoff":3.00')
    ),
    "rounds: an escape for a letter": text(ROUNDS, ('"TFT"', '"\\u0054FT"')),
    "rounds: a key twice": text(
        ROUNDS, ('"status":"ok"', '"status":"ok","status":"ok"')
    ),
    "rounds: lines of another system": text(ROUNDS, ("\n", "\r\n")),
    "rounds: cut at a whole line": lambda run_dir: cut(run_dir, 1),
    "rounds: a pipe": pipe(ROUNDS),
    "rounds: a link": moved(ROUNDS),
    "rounds: an endless file": link(ROUNDS, "/dev/zero"),
    "manifest: a pipe": pipe(MANIFEST),
    "manifest: a link": moved(MANIFEST),
    "manifest: an endless file": link(MANIFEST, "/dev/zero"),
    "a second rounds file": add("rounds.jsonl.gz"),
    "a second manifest": add("run_manifest.json.orig", "{}"),
    "a file with a telling name": add("VERIFIED.txt", "all checked"),
    "a folder": lambda run_dir: (run_dir / "more").mkdir(),
}

UNFINDABLE = {  # named in README: they follow from nothing that the folder holds
    "another machine": data(
        put("unproven", "environment", "platform", value="a laptop")
    ),
    "another number of sessions": data(put("unproven", "sessions", value=3)),
    "another time": data(
        put("unproven", "created_utc", value="2020-01-01T00:00:00.000Z")
    ),
    "a time of a round": lambda run_dir: text(
        ROUNDS,
        (
            json.loads((run_dir / ROUNDS).read_text().splitlines()[0])["timestamp_utc"],
            "2020-01-01T00:00:00.000Z",
        ),
    )(run_dir),
}


@pytest.mark.parametrize("attack", FOUND)
def test_it_is_found_and_named_in_one_line(run_dir, pdbench, attack):
    FOUND[attack](run_dir)
    for command in ("aggregate", "report"):
        code, out, err = pdbench(command, run_dir)
        assert (code, out) == (3, "")
        assert err.startswith(f"error: {run_dir}")
        assert err.count("\n") == 1


@pytest.mark.parametrize("attack", UNFINDABLE)
def test_what_follows_from_nothing_is_not_found(run_dir, pdbench, attack):
    UNFINDABLE[attack](run_dir)
    assert pdbench("aggregate", run_dir)[0] == 0


def test_which_model_was_asked_is_not_found_where_the_hash_is_mended(tmp_path, pdbench):
    """A recorded model is not asked again: its name and address are what the file says."""
    run_dir = shutil.copytree(EXAMPLE, tmp_path / "run")

    def another_model(manifest):
        for condition in manifest["config"]["conditions"].values():
            for seat in ("agent_a", "agent_b"):
                if "provider" in condition[seat]:
                    condition[seat]["provider"] |= {
                        "model": "x/y",
                        "base_url": "https://x.test",
                    }

    data(another_model)(run_dir)
    code, _, err = pdbench("aggregate", run_dir)
    assert code == 3
    assert "config_sha256" in err
    data(another_model, mend=True)(run_dir)
    assert pdbench("aggregate", run_dir)[0] == 0


def test_aggregates_that_say_something_else_are_replaced_and_named(run_dir, pdbench):
    right = (run_dir / "aggregates.parquet").read_bytes()
    assert pdbench("aggregate", run_dir)[2] == ""
    (run_dir / "aggregates.parquet").write_bytes(right[:-1] + b"x")
    code, _, err = pdbench("aggregate", run_dir)
    assert code == 0
    assert err == (
        f"note: {run_dir}/aggregates.parquet was not what the rounds give; it is"
        " written anew\n"
    )
    assert (run_dir / "aggregates.parquet").read_bytes() == right


# --- a first write that fails --------------------------------------------------------------------


def test_a_kill_in_the_first_manifest_is_resumed(experiment, pdbench, project):
    path = experiment()
    (project / "data/runs/test").mkdir(parents=True)
    for name in (".lock", MANIFEST + ".part"):
        (project / "data/runs/test" / name).write_text('{"schema')
    assert pdbench("run", path)[0] == 0
    assert pdbench("aggregate", project / "data/runs/test")[0] == 0


def test_a_full_disk_in_any_write_is_one_line_and_resumed(
    experiment, pdbench, project, monkeypatch
):
    path = experiment()
    calls, limit = [], [0]
    replace = os.replace

    def full(*names):
        calls.append(names)
        if len(calls) == limit[0]:
            raise OSError(28, "No space left on device", str(names[0]))
        replace(*names)

    monkeypatch.setattr(os, "replace", full)
    assert pdbench("run", path)[0] == 0
    writes = len(calls)
    whole = (project / "data/runs/test/aggregates.parquet").read_bytes()
    for n in range(1, writes + 1):
        run_dir = project / f"data/runs/full{n}"
        path = experiment(run={"output_dir": str(run_dir)})
        calls.clear()
        limit[0] = n
        code, _, err = pdbench("run", path)
        assert code == 3
        assert "No space left" in err
        assert err.splitlines()[-1].startswith("error: ")
        limit[0] = 0
        assert pdbench("run", path)[0] == 0
        assert (run_dir / "aggregates.parquet").read_bytes() == whole


# --- configurations ------------------------------------------------------------------------------


def laughs(depth, wide=9):
    rows = ["a0: &a0 [x, x, x]"]
    rows += [
        f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * wide)}]" for n in range(1, depth)
    ]
    return "\n".join(rows)


@pytest.mark.parametrize(
    ("name", "content"),
    {
        "aliases in aliases": laughs(9),
        "aliases as keys": laughs(7) + "\n? *a6\n: 1",
        "an alias of itself": "a: &a [*a]",
        "a mapping in itself": "a: &a {b: *a}",
    }.items(),
)
def test_a_small_file_that_unfolds_without_end_is_refused(
    project, pdbench, name, content
):
    path = project / "configs" / "bomb.yaml"
    path.write_text(content)
    code, out, err = pdbench("validate", path)
    assert (code, out) == (2, "")
    assert err.startswith("error: configs/bomb.yaml: ")
    assert err.count("\n") == 1


def test_aliases_that_unfold_to_little_are_read(experiment, pdbench, project):
    path = experiment()
    path.write_text(
        path.read_text() + "\nround_robin:\n- &a {ref: agents/policies.yaml, overrides:"
        " {policy: TFT}}\n"
    )
    assert pdbench("validate", path)[0] == 0


@pytest.mark.parametrize(
    "make",
    [
        os.mkfifo,
        lambda path: path.symlink_to("/dev/zero"),
        lambda path: path.write_text("a: " + "x" * 2_000_000),
    ],
)
def test_a_configuration_is_a_file_of_a_size(project, pdbench, make):
    path = project / "configs" / "odd.yaml"
    make(path)
    code, _, err = pdbench("validate", path)
    assert code == 2
    assert err.count("\n") == 1
