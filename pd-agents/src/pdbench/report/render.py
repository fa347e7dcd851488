"""The report's two forms from their templates; every value is escaped on its way in."""

import re
from html import escape

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from pdbench.core.types import SIMULATED
from pdbench.report import VERSION, say
from pdbench.report.charts import conditions_chart, course_chart, standings_chart, svg
from pdbench.report.colours import COLOURS
from pdbench.report.content import (
    CONDITION_HEAD,
    DEFINITIONS,
    Content,
    answer,
    condition_cells,
    facts,
    identity,
    state,
)

# What turns, hides or ends the text around it.
UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\ufeff\ud800-\udfff]"
)


def clean(value: object) -> object:
    """Text without signs that can't be seen; markup and numbers as they are."""
    return UNSEEN.sub("�", value) if type(value) is str else value


def cell(text: object) -> str:
    """Text that can't break out of a Markdown table's cell or be taken for HTML."""
    flat = " ".join(escape(str(clean(str(text))), quote=False).split())
    for mark in "\\|`*_[]":
        flat = flat.replace(mark, "\\" + mark)
    return flat


def _environment(finalize, autoescape: bool) -> Environment:
    env = Environment(
        loader=PackageLoader("pdbench.report"),
        autoescape=autoescape,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=finalize,
        keep_trailing_newline=True,
    )
    sayings = {"percent": say.percent, "plain": say.plain, "interval": say.interval}
    env.filters |= sayings
    env.globals |= sayings
    return env


def _values(content: Content) -> dict:
    return {
        "content": content, "answer": answer(content), "state": state(content),
        "facts": facts(content),
        "identity": identity(content.manifest, content.matches), "version": VERSION,
        "simulated": SIMULATED, "definitions": DEFINITIONS, "condition_head": CONDITION_HEAD,
        "condition_cells": condition_cells,
    }  # fmt: skip


def markdown(content: Content) -> str:
    """The whole report as Markdown."""
    return _environment(cell, False).get_template("report.md").render(_values(content))


def html(content: Content) -> str:
    """The whole report as one file: no script, nothing fetched."""
    template = _environment(clean, True).get_template("report.html")
    return template.render(
        _values(content),
        colours=COLOURS,
        figure=_figure(content),
        course=lambda row: _course(content, row),
    )


def _figure(content: Content) -> Markup | None:
    """The one figure at the top: standings where they are a ranking, else who cooperated."""
    if not any(c.complete for c in content.cells):
        return None
    if content.ranking:
        spec, words = standings_chart(content.standings)
        return _drawn(spec, "Points a round by agent, with 95% intervals", words)
    spec, words = conditions_chart(content.cells, content.manifest["seed"])
    return _drawn(spec, "Share of C by agent and opponent, with 95% intervals", words)


def _course(content: Content, row: dict) -> Markup:
    names = row["agent_a"], row["agent_b"]
    spec, words = course_chart(content.courses(row["condition"]), names)
    return _drawn(spec, f"Share of C by round: {names[0]} and {names[1]}", words)


def _drawn(spec: dict, name: str, words: str) -> Markup:
    return Markup(UNSEEN.sub("�", svg(spec, name, words)))
