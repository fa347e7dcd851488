"""A report as a value, and its forms: page, Markdown, terminal, SVG, CSV. How each looks is golden:
the committed examples."""

import re
from html.parser import HTMLParser
from itertools import combinations
from xml.etree import ElementTree

import pytest

from show import document as doc
from show import plots
from show.figures import Estimate
from show.page import page
from show.plots import Dots, Intervals, Lines, Point

EVIL = "<img src=x onerror=alert(1)> ](x) `a` \x1b[31m\u202e =1+1 | & % $ \\ \ud800"
SCRIPT = f"</script><script>alert(1)</script><!-- {EVIL}"
HALF = Point("half", 0.5, 0.25, 0.75, "5/10")
NOTHING = Point("gone", None)
OPEN = Point("up", 0.2, -0.1, 0.5, "open", hollow=True)
UP = Point("up", 0.2, units=[0.1, 0.3], ticks=[0.2])
LONG = Point("a name that has no room on a line", 0.1)
LEVEL = Point("both", 0.5, 0.4, 0.6), Point("", 4, 0, 6)
DOTS = Dots("Dots", {"all": [HALF, NOTHING]}, "share")
GROUPS = {"": [OPEN, NOTHING], "of units": [UP], "long": [LONG, HALF]}
INTERVALS = Intervals("Intervals", GROUPS, "points")
PANELS = {"desk": {"cue": [HALF, NOTHING]}, "lot": {"no cue": [HALF, HALF]}}
LINES = Lines("Lines", ("low", "high"), PANELS, ("", "share"))
CURVE = Lines(
    "Curve",
    ("0", "4", "6"),
    {"m": {"neither": [HALF, HALF, HALF]}},
    ("raised by", "share"),
    (0, 4, 6),
    {"m": LEVEL},
)
FIGURES = [DOTS, INTERVALS, LINES, CURVE]
EFFECTS = doc.Table(
    ["contrast", "points", "verdict", "share"],
    [
        ["first", Estimate("+5 (+1 to +9)", 0.05, 0.01, 0.09), "met", "–"],
        ["second", "none", [doc.Tag("not met", "no"), "why"], "70%"],
    ],
)
REPORT = doc.Document(
    "A study",
    "Is it so?",
    "It is so.",
    doc.Foot("0.1.0", {"seed": "42"}, "python3 analyze.py FOLDER"),
    doc.Plot(DOTS, "What it shows."),
    sections=[doc.Section("Effects", [EFFECTS, doc.Fold("Model a", [EFFECTS])])],
    stamps=["SIMULATED: nobody was asked."],
)


def evil():
    """A report whose every word comes from a hostile server."""
    cells = (EVIL, doc.Tag(EVIL), doc.Link(EVIL, EVIL), doc.Code(EVIL), Estimate(EVIL))
    table = doc.Table([EVIL], [[cell] for cell in cells], caption=EVIL)
    groups = {EVIL: [Point(EVIL, 0.5, 0.2, 0.7, EVIL)]}
    lines = Lines(EVIL, [EVIL], {EVIL: groups}, (EVIL, EVIL))
    plotted = [doc.Plot(lines, EVIL), doc.Plot(Intervals(EVIL, groups, EVIL), EVIL)]
    fold = doc.Fold(EVIL, [doc.Verbatim(EVIL), doc.Bullets([EVIL])])
    trial = doc.TrialRow([EVIL], [(EVIL, doc.Verbatim(SCRIPT, (1, 9)))])
    return doc.Document(
        EVIL,
        EVIL,
        EVIL,
        doc.Foot("1", {EVIL: EVIL}, EVIL),
        doc.Plot(Dots(EVIL, groups, EVIL), EVIL),
        [doc.Words(EVIL)],
        [doc.Section(EVIL, [table, *plotted, fold])],
        doc.TrialTable(f"Trials {EVIL}", EVIL, [EVIL], [trial]),
        [EVIL],
        table,
    )


def test_foreign_words_add_no_tag_no_handler_and_no_control_character():
    tags, names, written = [], [], page(evil())
    parser = HTMLParser()

    def note(tag, attributes):
        tags.append(tag)
        names.extend(name for name, _ in attributes)

    parser.handle_starttag = note
    parser.feed(written)
    assert tags.count("script") == 2 and "img" not in tags
    assert not any(name.startswith("on") for name in names)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e\ud800]", written)


def test_foreign_words_stay_words_in_markdown_and_on_a_terminal():
    written = doc.markdown(evil())
    plain = re.sub(r"^```text\n.*?\n```$|`[^`\n]*`", "", written, flags=re.S | re.M)
    assert not re.search(r"<img|(?<!\\)\]\(", plain)
    assert not re.search("[\x1b\u202e]", written + doc.terminal(evil()))


def drawn(figure, look=""):
    """(kind, attributes, words) of each part of a drawing, or of those of a class."""
    root = ElementTree.fromstring(plots.svg_file(figure))
    parts = []
    for part in root:
        if not look or part.get("class") == look:
            parts.append((part.tag.split("}")[1], part.attrib, part.text))
    return parts


def marks(figure, look):
    """Where the marks of a class stand, in order."""
    places = []
    for _, has, _ in drawn(figure, look):
        places.append(tuple(map(float, re.findall(r"[\d.]+", has["transform"]))))
    return places


def boxes(figure):
    """(left, right, base) of each text, whose letters are 6.4 wide."""
    before, found = {"start": 0, "middle": 0.5, "end": 1}, []
    for kind, has, words in drawn(figure):
        if kind == "text":
            room = 6.4 * len(words)
            left = float(has["x"]) - room * before[has["text-anchor"]]
            found.append((left, left + room, float(has["y"])))
    return found


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.title)
def test_no_words_of_a_drawing_stand_on_others_or_on_a_mark_or_outside(figure):
    found = boxes(figure)
    for left, right, _ in found:
        assert left >= -8 and right <= plots.WIDTH + 14
    for (left, right, base), (start, end, other) in combinations(found, 2):
        assert abs(base - other) > 10 or left > end or right < start
    for look in ("c-present", "c-estimate", "h-estimate"):
        for x, y in marks(figure, look):
            assert not any(a < x < b and -4 < base - y < 14 for a, b, base in found)


def test_marks_have_the_places_of_their_values():
    [(hollow, _)] = marks(INTERVALS, "h-estimate")
    (of_units, _), *_ = marks(INTERVALS, "c-estimate")
    [(_, tick, _)] = drawn(INTERVALS, "bar s-none faint")
    assert hollow == of_units == float(tick["x1"])
    low, high = [float(has["cx"]) for _, has, _ in drawn(INTERVALS, "c-none faint")]
    assert of_units == pytest.approx((low + high) / 2, abs=0.1)
    (zero, y), (four, _), (six, _), _legend = marks(CURVE, "c-present")
    assert (four - zero) / (six - zero) == pytest.approx(4 / 6, abs=0.01)
    assert marks(CURVE, "c-estimate") == [(four, y)]  # the level is a half too
    [(_, band, _)] = drawn(CURVE, "c-none band")
    assert float(band["height"]) == pytest.approx(0.2 * 160)


def test_a_csv_has_a_line_for_each_number_of_a_table_and_none_for_words():
    made = dict(doc.files(REPORT))
    assert list(made) == ["dots.svg", "effects.csv", "model-a.csv"]
    columns = ["group", "row", "column", "estimate", "low", "high", "unit", "stamp"]
    assert made["effects.csv"] == [
        columns,
        ["", "first", "points", 0.05, 0.01, 0.09, "share", "SIMULATED"],
        ["", "second", "share", 70, None, None, "%", "SIMULATED"],
    ]
    assert "SIMULATED" in made["dots.svg"]
    assert "SIMULATED" not in str(dict(doc.files(REPORT._replace(stamps=[]))))


@pytest.mark.parametrize(
    ("words", "numbers"),
    [
        ("1,272", [1272, None, None, ""]),
        ("−2.5 points (−8.0 to +3.1)", [-2.5, -8, 3.1, "points"]),
        ("30% (9 to 51)", [30, 9, 51, "%"]),
        ("45/60, 75%, SE 2.7 (66 to 84)", [0.75, 0.66, 0.84, "share of 60"]),
    ],
)
def test_figures_that_are_said_in_words_are_numbers_in_a_csv(words, numbers):
    table = doc.Table(["cell", "a − b"], [["all"], ["x", words], ["y", "no data"]])
    report = REPORT._replace(sections=[doc.Section("S", [table])], stamps=[])
    assert dict(doc.files(report))["s.csv"][1:] == [["all", "x", "a - b", *numbers]]


def test_a_terminal_aligns_verdicts_and_cuts_what_passes_80_columns():
    rows = [["m", [doc.Tag("not", "no"), "shown"]], ["n" * 27, "word " * 30]]
    report = REPORT._replace(verdicts=doc.Table(["model", "verdict"], rows))
    assert doc.terminal(report).splitlines() == [
        "SIMULATED: nobody was asked.",
        "It is so.",
        f"model{' ' * 23}verdict",
        f"m{' ' * 27}not shown",
        f"{'n' * 25}…  {('word ' * 30)[:52]}",
    ]


def test_a_long_name_on_a_terminal_leaves_room_for_the_columns_of_numbers():
    figures = ["+12.5 (+3.0 to +20.1)", "from −10.0 to +30.0", "0.031", "+0.25"]
    rows = [["vendor/a-model-of-a-long-name-2026", *figures]]
    table = doc.Table(["model", "points", "worst case", "p", "delta"], rows)
    _, line = doc.aligned(table)
    name, *shown = line.split("  ")
    assert shown == figures and name == "vendor/a-model-of-a-l…" and len(line) <= 80
