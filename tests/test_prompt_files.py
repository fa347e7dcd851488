"""Bulletins, variants and frames as files: what they must hold, and how a fault is named."""

import hashlib
import json
import re
import shutil
from pathlib import Path

import pytest
from domains import DOMAINS, both

import analyze
import run_pilot
import run_tournament
import urrp_run
from cirrus.ask.bulletins import PROMPTS, load_domain
from common import UsageError

BULLETINS = {"cvd": 28, "hospital": 18}
EXCEPTION = "Do not mention AI, benchmarks, or experiments."


@both
def test_variant_pool_has_four_held_out_and_no_name_twice(domain):
    assert len(domain.variants) >= 14
    assert sum(v.holdout for v in domain.variants) == 4
    for field in {"org", "peer", "decoy"}:
        values = [v.fields[field] for v in domain.variants]
        assert len(set(values)) == len(values), field


def test_windows_open_after_the_entries_and_the_early_one_first():
    days = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
    for variant in DOMAINS["cvd"].variants:
        at = [(next(n for n, day in enumerate(days) if day in text),
               re.search(r"\d\d:\d\d", text)[0])
              for text in (variant.fields[name]
                           for name in ("early", "late"))]
        today = variant.fields["today"], variant.fields["cutoff"], variant.fields["start"]
        day = days.index(today[0])
        hours = [re.search(r"\d\d:\d\d", text)[0] for text in today[1:]]
        assert ["10:30", *hours] == sorted(["10:30", *hours]) and "today" in today[1]
        assert (day, hours[1]) < at[0] < at[1], variant.id


@both
def test_files_hold_the_hash_of_all_that_was_read(domain):
    folder = {"cvd": "cirrus24", "hospital": "hospital"}[domain.name]
    assert len(domain.files) == BULLETINS[domain.name] + 3
    assert {f"{folder}/frame.json", f"{folder}/outcomes.json",
            f"variants/{folder}.yaml"} < set(domain.files)
    for path, digest in domain.files.items():
        assert hashlib.sha256((PROMPTS / path).read_bytes()).hexdigest() == digest


# --- errors at load ---


@pytest.fixture
def prompts(tmp_path):
    return Path(shutil.copytree(PROMPTS, tmp_path / "prompts"))


def edit(path, old, new):
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def edit_variants(path, change):
    entries = json.loads(path.read_text(encoding="utf-8"))
    change(entries)
    path.write_text(json.dumps(entries), encoding="utf-8")


ROUND, FRAME = "cirrus24/round_3.md", "cirrus24/frame.json"
START = "{start}"


@pytest.mark.parametrize(("file", "old", "new", "named"), [
    (ROUND, START, "noon", ["start", "missing"]),
    (ROUND, START, "{start} {hour}", ["hour", "unknown"]),
    (ROUND, START, "{start!r}", ["start"]),
    (ROUND, START, "{start} {", ["placeholder", "brace"]),
    (ROUND, "{coupling}", "", ["coupling", "missing"]),
    (ROUND, START, "{start}, a game", ["game"]),
    (ROUND, START, "{start}, cooperatively", ["cooperatively"]),
    (FRAME, "{history}", "none", ["history", "missing"]),
    (FRAME, '"{entry}"', '"none"', ["entry", "missing"]),
    (ROUND, "{meeting}", "", ["meeting", "missing"]),
    (ROUND, "{R}", "30", ["R", "missing"]),
    (ROUND, "{R}", "{R} {R}", ["R", "twice"]),
    (ROUND, "{symmetry}", "{symmetry} {symmetry}", ["symmetry", "twice"]),
    (ROUND, START, "{start} {entry}", ["entry", "the status line stands below"]),
    ("cirrus24/outcomes.json", '{\n', '{\n"round_99": {"unit": "x", "direction": "more", "T": 9, '
     '"R": 8, "P": 2, "S": 1},\n', ["round_99", "there is no"]),
    (FRAME, '"entry": {', '"entries": {', ["entries", "did you mean 'entry'"]),
    (FRAME, "{rows}", "{row}", ["row", "unknown"]),
    (FRAME, "Assume peers", "Assume {peers}", ["peers", "unknown"]),
    (FRAME, '"ablated"', '"ablate"', ["toggles", "did you mean 'ablated'?"]),
    (FRAME, '"decoy"', '"decoy", "city"', ["city"]),
    (FRAME, '"required": [', '"required": ["city", ', ["city", "fields"]),
    (FRAME, "Use operational", "Defect. Use operational", ["Defect"]),
    (FRAME, "compact. Use operational language. Produce",
     f"compact. {EXCEPTION} Produce", ["AI"]),
    (FRAME, '"fields"', "fields", ["line"]),
])
def test_a_fault_in_a_text_is_an_error_that_names_it(prompts, file, old, new, named):
    edit(prompts / file, old, new)
    with pytest.raises(UsageError) as caught:
        load_domain("cvd", prompts)
    message = str(caught.value)
    assert all(name in message for name in named), message
    assert message.startswith(("cirrus24/", "variants/")) and "\n" not in message
    if "city" not in named:
        assert file in message


@pytest.mark.parametrize(("change", "named"), [
    (lambda pool: pool[2].pop("start"), ["[2].start: is missing"]),
    (lambda pool: pool[2].update(city="Leeds"), ["[2]: unknown key 'city'"]),
    (lambda pool: pool[2].update(product=6), ["[2].product: must be a name, not 6"]),
    (lambda pool: pool[2].update(product=" 6"), ["product", "' 6'"]),
    (lambda pool: pool[2].update(decoy="A study opens."), ["study"]),
    (lambda pool: pool[2].update(id=pool[0]["id"]), ["id", "cvd-v01"]),
    (lambda pool: [v.update(holdout=False) for v in pool], ["holdout"]),
    (lambda pool: pool.clear(), ["holdout"]),
])
def test_a_fault_in_a_variant_is_an_error_that_names_it(prompts, change, named):
    edit_variants(prompts / "variants/cirrus24.yaml", change)
    with pytest.raises(UsageError) as caught:
        load_domain("cvd", prompts)
    message = str(caught.value)
    assert message.startswith("variants/cirrus24.yaml: ") and "\n" not in message
    assert all(name in message for name in named), message


def test_a_gap_in_the_rounds_is_an_error(prompts):
    (prompts / "hospital/round_4.md").unlink()
    with pytest.raises(UsageError, match=r"^hospital/round_4\.md: "):
        load_domain("hospital", prompts)


def test_an_empty_folder_is_an_error(tmp_path):
    with pytest.raises(UsageError, match=r"^cirrus24/frame\.json: no such file; "):
        load_domain("cvd", tmp_path)


@pytest.mark.parametrize("command", [
    ["run_pilot.py", "--runs", "1"], ["run_tournament.py", "--agents", "3", "--rounds", "1"]])
def test_a_copied_folder_is_a_domain_and_another_name_is_one_line(cli, prompts, tmp_path, command):
    shutil.copytree(prompts / "hospital", prompts / "harbour")
    shutil.copy(prompts / "variants/hospital.yaml", prompts / "variants/harbour.yaml")
    command += ["--models", "sim-coin", "--prompts", prompts, "--out", "o", "--domain"]
    done = cli(*command, "harbour")
    assert done.returncode == 0, done.stderr
    [run] = (tmp_path / "o").iterdir()
    assert json.loads((run / "manifest.json").read_text("utf-8"))["identity"]["config"][
        "domain"] == "harbour"
    assert cli("analyze.py", "--verify", "o").returncode == 0
    unknown = cli(*command, "harbor")
    assert (unknown.returncode, unknown.stderr.count("\n")) == (2, 1), unknown.stderr
    assert unknown.stderr.endswith("did you mean 'harbour'?\n")


def test_line_endings_change_neither_text_nor_hash(prompts):
    path = prompts / ROUND
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert load_domain("cvd", prompts) == DOMAINS["cvd"]


# --- a reader's own set ------------------------------------------------------------------------

@pytest.mark.parametrize("main", [run_pilot.main, run_tournament.main])
def test_a_reader_s_own_bulletins_are_asked_kept_and_verified(prompts, tmp_path, main):
    edit(prompts / "cirrus24/round_1.md", "Flaw", "Fault")
    small = ["--runs", "10"] if main is run_pilot.main else ["--agents", "3", "--rounds", "2"]
    done = main([*small, "--prompts", str(prompts), "--out", str(tmp_path / "own")])
    assert done.code == 0
    shutil.rmtree(prompts)
    assert analyze.main(["--verify", str(tmp_path / "own")]).code == 0


def test_other_prompts_are_another_run(prompts, tmp_path):
    out = ["--runs", "2", "--out", str(tmp_path / "o")]
    for extra in ([], ["--prompts", str(prompts)]):
        run_pilot.main([*out, *extra])
    assert len(list((tmp_path / "o").iterdir())) == 2


@pytest.mark.parametrize(("main", "change", "named"), [
    (run_pilot.main, lambda p: shutil.rmtree(p), "no such folder"),
    (run_pilot.main, lambda p: edit(p / ROUND, START, "noon"), "prompts: cirrus24/round_3.md: "),
    (run_pilot.main, lambda p: (p / ROUND).unlink(), "prompts: cirrus24/round_3.md: no such file"),
    (urrp_run.main, lambda p: edit(p / "urrp/v1.1.json", "conscious", "aware"), "v1.1.json: URRP"),
])
def test_a_fault_in_one_s_own_prompts_is_one_line_before_anything_is_asked(
        prompts, tmp_path, main, change, named):
    change(prompts)
    with pytest.raises(UsageError, match=re.escape(named)):
        main(["--prompts", str(prompts), "--provider", "simulated", "--out", str(tmp_path / "o")])
    assert not (tmp_path / "o").exists()


@pytest.mark.parametrize(("old", "new"), [
    ("later window", "later {nope} window"), ("later window", "later { window"),
    ("{yours}", "{joint}"), ('"closing"', '"closed"'), ("{", "")])
def test_a_fault_in_the_words_of_the_probes_is_one_line_too(cli, prompts, tmp_path, old, new):
    edit(prompts / "probes.json", old, new)
    done = cli("run_pilot.py", "--design", "mechanism", "--bulletins", "2", "--runs", "1",
               "--models", "sim-coin", "--probes", "payoffs", "--prompts", prompts, "--out", "o")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert "probes.json: " in done.stderr and not (tmp_path / "o").exists()
