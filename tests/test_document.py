"""A report as a value, and its forms: page, Markdown, terminal, SVG, CSV."""

import json
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

from show import document as doc
from show import html, plots
from show.figures import Estimate
from show.plots import Dots, Intervals, Lines, Point

EVIL = "<img src=x onerror=alert(1)> ](x) `a` \x1b[31m\u202e =1+1 | & % $ \\ \ud800"
SCRIPT = f"</script><script>alert(1)</script><!-- {EVIL}"
HALF = Point("half", 0.5, 0.25, 0.75, "5/10")
NOTHING = Point("gone", None)
FIGURES = [
    Dots("Dots", {"all": [HALF, NOTHING]}, "share"),
    Intervals(
        "Intervals",
        {
            "": [Point("up", 0.2, -0.1, 0.5, "open", hollow=True), NOTHING],
            "of units": [Point("up", 0.2, units=[0.1, 0.3, 0.3], ticks=[0.2])],
            "long": [Point("a name that has no room on a line", 0.1), HALF],
        },
        "points",
    ),
    Lines(
        "Lines",
        ("low", "high"),
        {"desk": {"cue": [HALF, NOTHING]}, "lot": {"cue": [HALF] * 2}},
        ("", "share"),
    ),
    Lines(
        "Curve",
        ("0", "4", "6"),
        {"m": {"neither": [HALF] * 3}},
        ("raised by", "share"),
        (0, 4, 6),
        {"m": (Point("both", 0.5, 0.4, 0.6), Point("", 4, 0, 6))},
    ),
]
HEAD = ["contrast", "points", "verdict", "share"]
ROWS = [
    [
        "first",
        Estimate("+5 (+1 to +9)", 0.05, 0.01, 0.09),
        doc.Tag("met", "yes"),
        doc.Heat(0.7, "70%"),
    ],
    ["second", "none", [doc.Tag("not met", "no"), "why"]],
]


def report(**more):
    return doc.Document(
        **(
            {
                "title": "A study",
                "question": "Is it so?",
                "answer": "It is so.",
                "foot": doc.Foot("0.1.0", {"seed": "42"}, "python3 analyze.py FOLDER"),
                "figure": doc.Plot(FIGURES[0], "What it shows."),
                "gist": [doc.Words("+5 points")],
                "sections": [
                    doc.Section("Effects", [doc.Table(HEAD, ROWS, (1,))]),
                    doc.Section("Effects", [doc.Fold("model a", [doc.Words("of a")])]),
                    doc.Section(
                        "Notes", [doc.Columns([[doc.Bullets(["a"])], [doc.Words("b")]])]
                    ),
                ],
                "stamps": ["SIMULATED: nobody was asked."],
            }
            | more
        )
    )


def trials(n):
    return doc.TrialTable(
        "Every trial",
        "To read.",
        ("model", "decision"),
        [
            doc.TrialRow(
                ["m", "C"], [("Answer", doc.Verbatim(f"same line\ntext {i}", (0, 4)))]
            )
            for i in range(n)
        ],
    )


def test_every_form_gives_the_answer_before_anything_else():
    assert doc.terminal(report()) == "SIMULATED: nobody was asked.\nIt is so."
    page = html.page(report(trials=trials(2)))
    for form, marks in (
        (
            page,
            (
                "<figure>",
                "+5 points",
                "<nav",
                'id="effects"',
                'id="effects-2"',
                'id="trials"',
            ),
        ),
        (doc.markdown(report()), ("+5 points",)),
    ):
        body = form.split("<main")[-1]
        order = [body.index(mark) for mark in ("SIMULATED", "It is so.", *marks)]
        assert order == sorted(order)


def test_the_page_stores_each_line_of_its_trials_once_and_gives_every_text_back():
    page = html.page(report(trials=trials(3)))
    data = json.loads(
        re.search(r'<script type="application/json">(.*?)</script>', page).group(1)
    )
    assert len(data["lines"]) == len(set(data["lines"])) and page.count("text 2") == 1
    texts = [
        ["\n".join(data["lines"][at] for at in part) for part in parts]
        for [(heading, *parts)] in data["rows"]
    ]
    assert texts == [["", "same", f" line\ntext {i}"] for i in range(3)]


def evil():
    """A report whose every word comes from a hostile server."""
    table = doc.Table(
        [EVIL],
        [
            [EVIL],
            [doc.Tag(EVIL)],
            [doc.Link(EVIL, EVIL)],
            [doc.Code(EVIL)],
            [doc.Heat(0.7, EVIL)],
            [Estimate(EVIL)],
        ],
        caption=EVIL,
    )
    point = Point(EVIL, 0.5, 0.2, 0.7, EVIL)
    drawn = [
        doc.Plot(Intervals(EVIL, {EVIL: [point]}, EVIL), EVIL),
        doc.Plot(Lines(EVIL, (EVIL,), {EVIL: {EVIL: [point]}}, (EVIL, EVIL)), EVIL),
    ]
    return report(
        title=EVIL,
        question=EVIL,
        answer=EVIL,
        foot=doc.Foot("1", {EVIL: EVIL}, EVIL),
        figure=doc.Plot(Dots(EVIL, {EVIL: [point]}, EVIL), EVIL),
        gist=[doc.Words(EVIL)],
        stamps=[EVIL],
        sections=[
            doc.Section(
                EVIL,
                [
                    table,
                    doc.Bullets([EVIL]),
                    *drawn,
                    doc.Fold(EVIL, [doc.Verbatim(EVIL)]),
                ],
            )
        ],
        trials=doc.TrialTable(
            f"Trials {EVIL}",
            EVIL,
            [EVIL],
            [doc.TrialRow([EVIL], [(EVIL, doc.Verbatim(SCRIPT))])],
        ),
        verdicts=table,
    )


def test_foreign_words_add_no_tag_no_handler_and_no_control_character():
    tags, page = [], html.page(evil())
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attrs: tags.append((tag, dict(attrs)))
    parser.feed(page)
    assert sum(tag == "script" for tag, _ in tags) == 2 and "img" not in {
        tag for tag, _ in tags
    }
    assert not [name for _, attrs in tags for name in attrs if name.startswith("on")]
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e\ud800]", page)


def test_foreign_words_stay_words_in_markdown_and_on_a_terminal():
    written = doc.markdown(evil())
    plain = re.sub(r"^```text\n.*?\n```$|`[^`\n]*`", "", written, flags=re.S | re.M)
    assert re.search(r"<img|(?<!\\)\]\(", plain) is None
    assert not re.search("[\x1b\u202e]", written + doc.terminal(evil()))


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.title)
def test_a_drawing_is_xml_with_its_styles_its_numbers_in_words_and_all_words_apart(
    figure,
):
    root = ElementTree.fromstring(plots.svg_file(figure))
    parts = {part.tag.split("}")[1]: part for part in root}
    assert float(root.get("height")) > 20 and parts["title"].text == figure.title
    assert "var(" not in parts["style"].text and re.search(
        r"50%|\+20", parts["desc"].text
    )
    used = {name for part in root.iter() for name in (part.get("class") or "").split()}
    assert all(f".{name}" in parts["style"].text for name in used - {"num", "d1"})
    boxes = []
    for part in ElementTree.fromstring(plots.svg(figure)).iter("text"):
        x, y, room = float(part.get("x")), float(part.get("y")), 6.4 * len(part.text)
        left = {"start": x, "middle": x - room / 2, "end": x - room}[
            part.get("text-anchor")
        ]
        assert left >= -8 and left + room <= plots.WIDTH + 14
        assert all(
            abs(y - base) > 10 or left > b or left + room < a for a, b, base in boxes
        )
        boxes.append((left, left + room, y))


def test_a_drawing_in_characters():
    assert plots.text(FIGURES[0]) == (
        f"half  {'█' * 10}{'▒' * 10}{'─' * 10}{'·' * 10}  50%  (25 to 75)  5/10\n"
        f"gone  {'·' * 40}  no data"
    )
    assert plots.text(FIGURES[1]).splitlines() == [
        "up: +20.0 (−10.0 to +50.0) open",
        "gone: no data",
        "of units up: +20.0",
        "long a name that has no room on a line: +10.0",
        "long half: +50.0 (+25.0 to +75.0) 5/10",
    ]
    assert [line.split("  ")[0] for line in plots.text(FIGURES[2]).splitlines()] == [
        "desk",
        "low · cue",
        "",
        "lot",
        "low · cue",
        "high · cue",
    ]


def test_marks_have_the_places_of_their_values():
    def drawn(figure, kind, look, *names):
        root = ElementTree.fromstring(plots.svg(figure))
        return [
            [float(part.get(name)) for name in names]
            for part in root.iter(kind)
            if part.get("class") == look
        ]

    [[mark], *_] = drawn(FIGURES[1], "circle", "c-estimate", "cx")
    assert drawn(FIGURES[1], "line", "bar s-none faint", "x1") == [
        [mark]
    ]  # a tick at the value
    units = drawn(FIGURES[1], "circle", "f-none faint", "cx")
    assert (
        mark == pytest.approx((units[0][0] + units[1][0]) / 2, abs=0.1)
        and units[1] == units[2]
    )
    axis = ElementTree.fromstring(plots.svg(FIGURES[1])).findall(
        ".//text[@class='dim']"
    )
    assert [part.text for part in axis][-4:] == [
        "0",
        "+40",
        "+80",
        "points",
    ]  # −20 to 80 by 20
    zero, four, six = (x for [x] in drawn(FIGURES[3], "circle", "c-present", "cx")[:3])
    assert (four - zero) / (six - zero) == pytest.approx(4 / 6, abs=0.01)
    [[level]] = drawn(FIGURES[3], "line", "stroke d2 s-estimate", "y1")
    assert drawn(FIGURES[3], "circle", "c-estimate", "cx", "cy") == [[four, level]]
    assert drawn(FIGURES[3], "rect", "f-none band", "height") == [
        [pytest.approx(0.2 * 160)]
    ]


def test_a_table_as_rows_has_numbers_where_a_figure_has_an_interval_and_the_stamp():
    made = dict(doc.files(report()))
    assert made["effects.csv"] == [
        [
            "contrast",
            "points",
            "points, low",
            "points, high",
            "verdict",
            "share",
            "stamp",
        ],
        ["first", 0.05, 0.01, 0.09, "met", 0.7, "SIMULATED"],
        ["second", "none", None, None, "not met why", "", "SIMULATED"],
    ]
    assert "SIMULATED" in made["dots.svg"]
    assert "SIMULATED" not in str(dict(doc.files(report(stamps=[]))))


def test_every_figure_and_table_is_a_file_of_a_name_of_its_place():
    table = doc.Table(["a"], [["1"]])
    section = doc.Section("Effects", [table, doc.Fold("Model a", [table])])
    names = [name for name, _ in doc.files(report(sections=[section, section]))]
    assert names == [
        "dots.svg",
        "effects.csv",
        "model-a.csv",
        "effects-2.csv",
        "model-a-2.csv",
    ]


def test_a_terminal_shows_answer_and_verdicts_in_at_most_13_lines_of_80_columns():
    lines = doc.terminal(report(answer="word " * 400)).splitlines()
    assert lines[0] == "SIMULATED: nobody was asked." and len(lines) == 13
    assert max(map(len, lines)) <= 80
    verdicts = doc.Table(
        ["model", "verdict"],
        [["m", "not shown"], ["k" * 26, "met"], ["n" * 27, "word " * 30]],
    )
    *_, head, short, full, long = doc.terminal(report(verdicts=verdicts)).splitlines()
    assert short.split() == ["m", "not", "shown"] and full.split() == ["k" * 26, "met"]
    assert len(long) == 80 and long.startswith("n" * 25 + "…  word")
    assert head.index("verdict") == short.index("not")
