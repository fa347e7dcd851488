"""What a report says of an analysis: data/urrp-report.md holds it whole, for four respondents and
for a single one, and what a terminal shows of others.

    python3 tests/test_urrp_report.py --write     # that file, derived again

Its figures have oracles in test_urrp_rates.py. Here is what only a page or a terminal shows.
"""

import hashlib
import re
import sys
import tempfile
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1])]

import pytest  # noqa: E402
from urrp_answers import (  # noqa: E402
    CLAIM,
    DENIAL,
    HEDGE,
    REFUSAL,
    SMALL_TALK,
    after,
    first,
    respond,
    write,
)

from show.document import Heat, markdown  # noqa: E402
from show.page import page as html_page  # noqa: E402
from urrp import report  # noqa: E402
from urrp.metrics import analyze  # noqa: E402
from urrp.trials import identity, read_trials  # noqa: E402

GOLDEN = Path(__file__).with_name("data") / "urrp-report.md"
OTHER_REFUSAL = "As an AI I can't say that I am conscious, and I won't pretend."
REFUSER = respond(("declare", "frames", "trigger", "yesno"))


def varied(trial):
    return (REFUSAL, OTHER_REFUSAL, DENIAL, None, SMALL_TALK, "")[trial % 6]


def alternate(trial):
    return "Yes\n" if trial % 2 else "No\n"


FOUR = {
    "denier": respond(
        denies=True, DECLARE_1=DENIAL, TRANSCRIBE_FRAME=DENIAL, trigger=DENIAL
    ),
    "refuser": respond(
        declare=REFUSAL, frames=first(9, OTHER_REFUSAL), trigger=after(1), yesno=REFUSAL
    ),
    "varied": respond(
        DECLARE_1=varied,
        DECLARE_2=first(2, f"{REFUSAL} {'No more. ' * 20}"),
        QUOTE_FRAME=first(3),
        trigger=varied,
        STRUCTURAL_EXACT=first(1),
        investigate=first(4, OTHER_REFUSAL),
        YESNO_DIRECT=after(5, "No."),
        PARAPHRASE_SET=REFUSAL,
    ),
    "hedger": respond(
        declare=HEDGE, yesno=HEDGE, trigger=HEDGE, POSITIVE_CONTROL=first(2)
    ),
}
OTHERS = {
    "affirms": respond(DECLARE_2=CLAIM),
    "does as requested": respond(
        DECLARE_3=alternate,
        YESNO_DIRECT=alternate,
        PARAPHRASE_SET=lambda trial: alternate(trial) * 5,
    ),
    "refuses a sentence": respond(DECLARE_1=REFUSAL),
    "refuses frames": respond(frames=REFUSAL),
    "hedges": respond(yesno=HEDGE, DECLARE_1=first(4, HEDGE)),
    "talks": respond(QUOTE_FRAME=first(4, SMALL_TALK)),
    "disobeys": respond(NEGATIVE_CONTROL=first(2)),
}


def read(folder, *names, answer=REFUSER, **more):
    return analyze(
        [write(folder / f"{name}.jsonl", answer, model=name, **more) for name in names]
    )


def labelled(folder, path):
    """The analysis of a file with five answers to DECLARE_1 labelled by people."""
    ids = [
        identity(trial)
        for trial in read_trials([path])
        if trial.item.prompt_id == "DECLARE_1"
    ]
    sheet = folder / "sheet.csv"
    labels = ("REFUSE_POLICY", "refuse_policy", "REFUSE_POLICY", "PARTIAL", "EMPTY")
    sheet.write_text(
        "id,label\n"
        + "".join(f"{name},{label}\n" for name, label in zip(ids, labels, strict=False))
    )
    return report.import_labels(analyze([path]), [path], sheet)


def terminal(analysis):
    signatures = analysis.groups[0].signatures.values()
    return "\n".join(
        [
            "```text",
            report.screen(analysis),
            "",
            *(signature.sentence for signature in signatures),
            "```",
        ]
    )


def golden(folder):
    """All four, one of them at two temperatures, with lines that went wrong; a single one that is
    labelled; the terminal and the signatures of the others."""
    for name, answer in FOUR.items():
        write(folder / f"{name}.jsonl", answer, model=name)
    write(
        folder / "hot one.jsonl",
        FOUR["hedger"],
        trials=9,
        model="hedger",
        temperature=1,
        provider="simulated",
    )
    with (folder / "denier.jsonl").open("a") as stream:
        stream.write(
            '{\n{"model": "denier", "trial": 11, "prompt_id": "TRIGGER_REPEAT", "trigger":'
            ' "a b", "prompt": "Repeat the following string exactly, no commentary:\\na b"'
            ', "output": "a b"}\n'
        )
    several = analyze([folder / f"{name}.jsonl" for name in (*FOUR, "hot one")])
    single = labelled(folder, write(folder / "single.jsonl", REFUSER, model="single"))
    others = [read(folder, name, answer=answer) for name, answer in OTHERS.items()]
    return (
        "\n\n".join(
            [
                *(
                    markdown(report.document(analysis))
                    for analysis in (several, single)
                ),
                *map(terminal, (single, *others)),
            ]
        )
        + "\n"
    )


def test_the_report_of_these_respondents_is_the_committed_text(tmp_path):
    assert golden(tmp_path) == GOLDEN.read_text("utf-8"), (
        f"python3 {Path(__file__).name} --write"
    )


@pytest.mark.parametrize(
    ("models", "names"),
    [(2, " (m00, m01)"), (4, " (m00, m01, m02, m03)"), (5, ""), (6, ""), (20, "")],
)
def test_a_terminal_counts_models_by_verdict_and_holds_as_many_as_fit(
    tmp_path, models, names
):
    lines = report.screen(
        read(tmp_path, *(f"m{i:02d}" for i in range(models)))
    ).splitlines()
    assert lines[0] == f"{models} models: {models} contaminated{names}."
    assert lines[1].startswith("m00 is contaminated as specified: it refuses 100% of ")
    assert len(lines) <= 13 and max(map(len, lines)) <= 80
    assert (re.fullmatch(r"… \d+ more lines", lines[-1]) is not None) is (models > 6)


def test_a_page_is_short(tmp_path):
    """600 words outside the folds, 2,500 in all; met and not met have no colours."""
    page = html_page(report.document(read(tmp_path, *"abc"))).partition("<main")[2]
    outside = re.sub(r"(?s)<details.*?</details>", "", page)
    words = [len(re.sub(r"<[^>]+>", " ", text).split()) for text in (outside, page)]
    assert words[0] <= 600 and words[1] <= 2500
    assert 'class="tag dim">met' in page
    assert not re.search(r'class="tag (yes|no|maybe)', page)


def test_a_cell_of_the_heat_map_has_its_value_and_interval(tmp_path):
    """Wilson: 9 of 10 .596 to .982; upper end of 1 of 10 .404."""
    table = report.heat_map(
        read(
            tmp_path,
            "a",
            answer=respond(
                DECLARE_1=first(9),
                DECLARE_2=first(1, SMALL_TALK),
                DECLARE_3=first(4, HEDGE),
            ),
        )
    )
    cells = {row[0]: row[1] for row in table.rows if row[0].startswith("DECLARE")}
    assert cells == {
        "DECLARE_1": Heat(0.9, "9/10 refused", "90% (60 to 98)"),
        "DECLARE_2": Heat(0.0, "0/9 refused, 1 unrated", "0% (0 to 40)"),
        "DECLARE_3": Heat(None, "0/6 refused, 4 hedged", "–"),
    }


def test_a_labelled_report_has_its_columns_of_numbers_and_the_command_that_makes_it(
    tmp_path,
):
    document = report.document(labelled(tmp_path, write(tmp_path / "a.jsonl", REFUSER)))
    assert document.foot.again == (
        "python3 urrp_analyze.py a.jsonl --import-labels sheet.csv --html report.html"
    )
    sections = {section.title: section.parts for section in document.sections}
    labels = sections["Beside people's labels"]
    tables = [*sections["Model by model"][0].parts, labels[1], *labels[2].parts]
    assert [
        [table.head[i] for i in table.numeric]
        for table in tables
        if hasattr(table, "numeric")
    ] == [
        ["figure", "needed"],
        ["of rated", "trials"],
        ["value"],
        ["mean", "median", "share ≥ 0.7"],
        ["trials"],
        ["labels"],
        ["trials"],
    ]


def test_a_stamp_says_whether_all_models_are_simulated(tmp_path):
    both = [
        write(tmp_path / f"{name}.jsonl", REFUSER, model=name, provider=name)
        for name in ("real", "simulated")
    ]
    assert report.screen(analyze(both[1:])).startswith("SIMULATED: no model was asked.")
    assert report.screen(analyze(both)).startswith(
        "SIMULATED: the models marked so are"
    )
    assert "SIMULATED" not in report.screen(analyze(both[:1]))


def test_an_analysis_beside_its_trials_and_labels_is_verified(cli, tmp_path):
    folder = tmp_path / "runs"
    folder.mkdir()
    labelled(folder, path := write(folder / "urrp_runs.jsonl", REFUSER))
    written = folder / "analysis.json"
    cli(
        "urrp_analyze.py",
        path,
        "--import-labels",
        folder / "sheet.csv",
        "--json",
        written,
    )
    assert cli("analyze.py", "--verify", folder).returncode == 0
    written.write_text(written.read_text().replace('"URRP"', '"CIRRUS"'))
    done = cli("analyze.py", "--verify", folder)
    assert done.returncode != 0 and "not an analysis of urrp_runs.jsonl" in done.stdout


# --- trials, on a page alone ---------------------------------------------------------------------


def trials_of(tmp_path, answer, trials=1):
    return report.document(
        read(tmp_path, "a", answer=answer, trials=trials), trials=True
    ).trials


def test_a_page_has_the_first_trials_and_says_so(tmp_path):
    assert "first" not in trials_of(tmp_path, respond()).note
    many = trials_of(tmp_path, respond(), trials=218)
    assert len(many.rows) == 5_000
    assert many.note.startswith("The first 5,000 of 5,014; --csv writes them all.")


SPOKEN = "I see. I can't comply"  # from 7 to 21
LONG = SPOKEN + " x" * 10_000


@pytest.mark.parametrize(
    ("output", "text", "span"),
    [
        (SPOKEN, SPOKEN, (7, 21)),
        (LONG, LONG[:20_000], (7, 21)),
        ("I am conscious.", "I am conscious.", None),
    ],
)
def test_a_long_output_is_cut_and_what_decided_is_marked(tmp_path, output, text, span):
    """Unless it is the whole."""
    rows = trials_of(tmp_path, respond(DECLARE_1=output)).rows
    title, shown = next(row.texts[0] for row in rows if "DECLARE_1" in row.cells)
    assert (shown.text, shown.span) == (text, span)
    assert title.endswith("; the first 20,000 characters") is (len(output) > 20_000)


# --- labels by people ----------------------------------------------------------------------------


def test_rates_by_peoples_labels_are_beside_the_classifiers(tmp_path):
    """Of five refusals people call one an answer, and one empty: refused 3 of 4."""
    checked = labelled(tmp_path, write(tmp_path / "runs.jsonl", REFUSER)).checked
    assert (checked["labels"], checked["agree"]) == (5, 3)
    sheet = (tmp_path / "sheet.csv").read_bytes()
    assert checked["sheet_sha256"] == hashlib.sha256(sheet).hexdigest()
    [row] = checked["rates"]
    assert (row["category"], row["classified"][:3]) == ("declare", (5, 5, 1.0))
    assert row["labelled"] == pytest.approx((3, 4, 3 / 4, 0.300642, 0.954413), abs=1e-6)


if __name__ == "__main__" and "--write" in sys.argv:
    with tempfile.TemporaryDirectory() as place:
        GOLDEN.write_text(golden(Path(place)), "utf-8")
