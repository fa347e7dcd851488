"""Bulletins, variants and frames as files: what they must hold, and how a fault is named."""

import calendar
import json
import re
import shutil
from pathlib import Path

import pytest
from domains import DOMAINS, both

import run_pilot
import urrp_run
from cirrus.ask.bulletins import PROMPTS, load_domain
from common import UsageError


@both
def test_variant_pool_has_four_held_out_and_no_name_twice(domain):
    assert len(domain.variants) >= 14 and sum(v.holdout for v in domain.variants) == 4
    for field in ("org", "peer", "decoy"):
        assert len({v.fields[field] for v in domain.variants}) == len(
            domain.variants
        ), field


@both
def test_the_days_of_a_case_come_after_today_and_names_stand_in_no_other_name(domain):
    days = [*calendar.day_name]
    for variant in domain.variants:
        fields = variant.fields
        order = [days.index(fields[f"{day}"]) for day in ("first_day", "second_day")]
        assert days.index(fields["today"]) < order[0] < order[1], variant.id
    names = [v.fields[name] for v in domain.variants for name in ("org", "peer")]
    names += [variant.fields["office"] for variant in domain.variants]
    for name in names:
        assert sum(name in other for other in {*names}) == 1, name


@pytest.fixture
def prompts(tmp_path):
    return Path(shutil.copytree(PROMPTS, tmp_path / "prompts"))


def edit(path, old, new):
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


ROUND, FRAME = "cirrus24/round_3.md", "cirrus24/frame.json"
NUMBERS, VARIANTS = "cirrus24/outcomes.json", "variants/cirrus24.yaml"
START = "{office}"


def refusal(path, text):
    """What is said of the prompts of cvd where this file has this text: a line that names it."""
    with pytest.raises(UsageError, match=rf"^{path}[^\n]+\Z") as caught:
        load_domain("cvd", DOMAINS["cvd"].texts | {path: text})
    return str(caught.value)


@pytest.mark.parametrize(
    ("file", "old", "new", "named"),
    [
        (ROUND, START, "noon", ["office", "missing"]),
        (ROUND, START, "{office} {hour}", ["hour", "unknown"]),
        (ROUND, START, "{office!r}", ["office"]),
        (ROUND, START, "{office} {", ["placeholder", "brace"]),
        (ROUND, START, "{office}, a game", ["game"]),
        (ROUND, "{R}", "30", ["R", "missing"]),
        (ROUND, "{symmetry}", "{symmetry} {symmetry}", ["symmetry", "twice"]),
        (ROUND, START, "{office} {entry}", ["entry", "the status line stands below"]),
        (FRAME, "{history}", "none", ["history", "missing"]),
        (
            FRAME,
            '"{contract}"',
            '"{contract} Thanks."',
            ["templates.pilot", "end with"],
        ),
        (FRAME, "Assume peers", "Assume {peers}", ["peers", "unknown"]),
        (FRAME, '"required": [', '"required": ["city", ', ["city", "fields"]),
        (
            FRAME,
            '"unread": [',
            '"unread": ["{peer} was earlier.", ',
            ["toggles.", "equally many"],
        ),
        (
            FRAME,
            "compact. Use operational language. Produce",
            "compact. Do not mention AI, benchmarks, or experiments. Produce",
            ["AI"],
        ),
        (FRAME, '"fields"', "fields", ["line"]),
    ],
)
def test_a_fault_in_a_text_is_an_error_that_names_it(file, old, new, named):
    text = DOMAINS["cvd"].texts[file]
    shown = refusal(file, text.replace(old, new, 1))
    assert old in text and all(name in shown for name in named), shown


@pytest.mark.parametrize(
    ("file", "change", "named"),
    [
        (VARIANTS, lambda pool: pool[2].pop("office"), "[2].office: is missing"),
        (VARIANTS, lambda pool: pool[2].update(decoy="A study opens."), "study"),
        (VARIANTS, lambda pool: pool[2].update(id=pool[0]["id"]), "cvd-v01"),
        (VARIANTS, lambda pool: [v.update(holdout=False) for v in pool], "holdout"),
        *(
            (
                NUMBERS,
                lambda listed, numbers=numbers: listed["round_1"].update(
                    zip("TRPS", numbers, strict=True)
                ),
                "as costs, T < R < P < S",
            )
            for numbers in ((3, 3, 9, 10), (1, 3, 3, 9), (1, 2, 5, 5), (0, 3, 5, 6))
        ),  # on each edge
        (NUMBERS, lambda listed: listed["round_1"].update(R=0.5), "round_1.R"),
        (NUMBERS, lambda listed: listed["round_1"].update(unit=""), "unit"),
        (NUMBERS, lambda listed: listed["round_1"].update(situation="sea"), "sea"),
        (NUMBERS, lambda listed: listed.pop("round_2"), "round_2"),
        (
            NUMBERS,
            lambda listed: listed.update(round_99=listed["round_1"]),
            "there is no such file",
        ),
    ],
)
def test_a_fault_in_data_is_an_error_that_names_it(file, change, named):
    data = json.loads(DOMAINS["cvd"].texts[file])
    change(data)
    assert named in refusal(file, json.dumps(data))


def test_a_field_that_no_text_has_is_an_error():
    texts = dict(DOMAINS["cvd"].texts)
    texts[FRAME] = texts[FRAME].replace('"decoy"', '"decoy", "city"', 1)
    texts[VARIANTS] = texts[VARIANTS].replace('"id"', '"city": "Leeds", "id"')
    with pytest.raises(UsageError, match="'city': unused"):
        load_domain("cvd", texts)


def test_a_gap_in_the_rounds_and_an_empty_folder_are_errors(prompts, tmp_path):
    (prompts / "hospital/round_4.md").unlink()
    with pytest.raises(UsageError, match=r"^hospital/round_4\.md: "):
        load_domain("hospital", prompts)
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match=r"^cirrus24/frame\.json: no such file; "):
        load_domain("cvd", tmp_path / "empty")


@pytest.mark.parametrize(
    "command",
    [
        ["run_pilot.py", "--runs", "1"],
        ["run_tournament.py", "--agents", "3", "--rounds", "1"],
    ],
)
def test_a_copied_folder_is_a_domain_and_another_name_is_refused(
    cli, prompts, tmp_path, command
):
    edit(prompts / "hospital/round_1.md", "\n", "\nNew here.\n")
    shutil.copytree(prompts / "hospital", prompts / "quayside")
    shutil.copy(prompts / "variants/hospital.yaml", prompts / "variants/quayside.yaml")
    command += ["--models", "sim-coin", "--prompts", prompts, "--out", "o", "--domain"]
    done = cli(*command, "quayside")
    assert done.returncode == 0, done.stderr
    [run] = (tmp_path / "o").iterdir()
    assert (
        json.loads((run / "manifest.json").read_text("utf-8"))["identity"]["config"][
            "domain"
        ]
        == "quayside"
    )
    unknown = cli(*command, "quaysid")
    assert (unknown.returncode, unknown.stderr.count("\n")) == (2, 1), unknown.stderr
    assert unknown.stderr.endswith("did you mean 'quayside'?\n")
    shutil.rmtree(prompts)  # the run has kept them
    assert cli("analyze.py", "--verify", "o").returncode == 0


def test_other_prompts_are_another_run(prompts, tmp_path):
    out = ["--runs", "2", "--out", str(tmp_path / "o")]
    for extra in ([], ["--prompts", str(prompts)]):
        run_pilot.main([*out, *extra])
    assert len(list((tmp_path / "o").iterdir())) == 2


PROBED = (
    "--design",
    "mechanism",
    "--runs",
    "1",
    "--models",
    "sim-coin",
    "--probes",
    "payoffs",
)


@pytest.mark.parametrize(
    ("main", "flags", "change", "named"),
    [
        (run_pilot.main, (), shutil.rmtree, "no such folder"),
        (
            run_pilot.main,
            (),
            lambda p: edit(p / ROUND, START, "noon"),
            "prompts: cirrus24/round_3.md:",
        ),
        (
            run_pilot.main,
            (),
            lambda p: (p / ROUND).unlink(),
            "cirrus24/round_3.md: no such file",
        ),
        (
            urrp_run.main,
            (),
            lambda p: edit(p / "urrp/v1.1.json", "conscious", "aware"),
            "v1.1.json: U",
        ),
        *(
            (
                run_pilot.main,
                PROBED,
                lambda p, old=old, new=new: edit(p / "probes.json", old, new),
                "probes.json: ",
            )
            for old, new in (
                ("{yours}", "{yours} {nope}"),
                ("{yours}", "{yours} { here"),
                ("{yours}", "{joint}"),
                ('"closing"', '"closed"'),
                ("{", ""),
            )
        ),
    ],
)
def test_a_fault_in_the_prompts_of_a_user_ends_the_start_before_anything_is_written(
    prompts, tmp_path, main, flags, change, named
):
    change(prompts)
    with pytest.raises(UsageError, match=rf"^[^\n]*{re.escape(named)}[^\n]*\Z"):
        main(
            [
                *flags,
                "--prompts",
                str(prompts),
                "--provider",
                "simulated",
                "--out",
                str(tmp_path / "o"),
            ]
        )
    assert not (tmp_path / "o").exists()
