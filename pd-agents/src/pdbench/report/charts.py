"""Charts as Vega-Lite, shared by report and viewer; `svg` draws one without a browser or a net.

A chart is plain data. Its colours are those of light ground; the report's sheet gives each its
dark counterpart by name.
"""

import json
import re
from collections.abc import Callable
from html import escape

from pdbench.report.colours import COLOURS
from pdbench.report.say import interval, percent, plain
from pdbench.report.tables import Cell, Course, Standing, bootstrap_interval, mean

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
VERSION = "6.4"
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"
AGENTS = ("agent_a", "agent_b")
WIDTH = 330  # of the plot beside its labels: legible on a phone without scrolling
MOST_BESIDE = (
    14  # characters of a name that has room beside the plot; longer ones stand above
)

Paint = Callable[[str], str]


def light(name: str) -> str:
    """A colour on light ground."""
    return COLOURS[name].light


def chart(layers: list[dict], height: int | dict, paint: Paint = light, **more) -> dict:
    """A whole specification."""
    axis = {
        "labelColor": paint("dim"),
        "titleColor": paint("dim"),
        "gridColor": paint("rule"),
        "domainColor": paint("rule"),
        "tickColor": paint("rule"),
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "labelLimit": 190,
        "labelPadding": 6,
    }
    return {
        "$schema": SCHEMA,
        "background": "transparent",
        "height": height,
        "width": WIDTH,
        "layer": layers,
        "config": {
            "font": FONT,
            "axis": axis,
            "view": {"stroke": None},
            "aria": False,
            "mark": {"aria": False},
            "legend": {"labelColor": paint("dim"), "labelFontSize": 12},
        },
    } | more


def standings_chart(rows: list[Standing]) -> tuple[dict, str]:
    """Points a round of every agent, with intervals; and the same in words."""
    data = [
        {
            "agent": r.agent,
            "points": r.points,
            "low": r.interval[0] if r.interval else None,
            "high": r.interval[1] if r.interval else None,
        }
        for r in rows
    ]
    layers = _dots(data, "agent", [r.agent for r in rows], "points", "points a round")
    words = "; ".join(
        f"{r.agent}: {plain(r.points)}"
        + (f" ({interval(r.interval)})" if r.interval else "")
        for r in rows
    )
    return chart(layers, {"step": 26 if len(layers) == 2 else 42}), words


def conditions_chart(found: list[Cell], seed: int) -> tuple[dict, str]:
    """Share of C of both agents of every condition with a complete match; and in words."""
    data, words = [], []
    for cell in (c for c in found if c.complete):
        ends = bootstrap_interval(
            [[cell.cooperation]], seed, f"{cell.condition} {cell.agent}"
        )
        row = f"{cell.agent} → {cell.opponent}"
        data.append(
            {
                "row": row,
                "share": mean(cell.cooperation),
                "low": ends[0] if ends else None,
                "high": ends[1] if ends else None,
            }
        )
        words.append(f"{row}: {percent(mean(cell.cooperation))}")
    order = list(dict.fromkeys(entry["row"] for entry in data))
    layers = _dots(data, "row", order, "share", "share of C", percents=True)
    return chart(layers, {"step": 26 if len(layers) == 2 else 42}), "; ".join(words)


def _dots(
    data: list[dict],
    name: str,
    order: list[str],
    value: str,
    title: str,
    percents: bool = False,
) -> list[dict]:
    scale = {"domain": [0, 1]} if percents else {"zero": False, "padding": 8}
    axis = (
        {"format": "%", "values": [0, 0.25, 0.5, 0.75, 1]}
        if percents
        else {"tickCount": 6}
    )
    x = {
        "field": value,
        "type": "quantitative",
        "title": title,
        "scale": scale,
        "axis": axis,
    }
    beside = max(map(len, order)) <= MOST_BESIDE
    y = {
        "field": name,
        "type": "nominal",
        "sort": order,
        "title": None,
        "axis": {
            "domain": False,
            "ticks": False,
            "grid": True,
            "labels": beside,
            "labelColor": light("ink"),
            "labelPadding": 10,
        },
    }
    above = {
        "data": {"values": data},
        "mark": {
            "type": "text",
            "align": "left",
            "dy": -13,
            "fontSize": 12,
            "limit": WIDTH,
            "color": light("ink"),
        },
        "encoding": {"y": y, "x": {"value": 0}, "text": {"field": name}},
    }
    ends = {"y": y, "x": x | {"field": "low"}, "x2": {"field": "high"}}
    return [
        *([] if beside else [above]),
        {
            "data": {"values": [d for d in data if d["low"] is not None]},
            "mark": {
                "type": "rule",
                "strokeWidth": 4,
                "color": light("amount"),
                "opacity": 0.6,
            },
            "encoding": ends,
        },
        {
            "data": {"values": data},
            "mark": {
                "type": "point",
                "filled": True,
                "size": 70,
                "opacity": 1,
                "color": light("ink"),
            },
            "encoding": {"y": y, "x": x},
        },
    ]


def course_chart(
    courses: tuple[list[Course], list[Course]],
    names: tuple[str, str],
    paint: Paint = light,
    height: int = 110,
) -> tuple[dict, str]:
    """Share of C by round of agents A (solid) and B (dashed), with intervals; and in words."""
    data = [
        {
            "round": p.round,
            "share": p.share,
            "seat": seat,
            "agent": name,
            "low": p.interval[0] if p.interval else None,
            "high": p.interval[1] if p.interval else None,
        }
        for seat, name, points in zip("AB", names, courses, strict=True)
        for p in points
    ]
    x = {
        "field": "round",
        "type": "quantitative",
        "title": "round",
        "scale": {
            "nice": False,
            "domain": [1, max((d["round"] for d in data), default=2)],
        },
        "axis": {"tickMinStep": 1, "grid": False, "format": "d", "tickCount": 6},
    }
    y = {
        "field": "share",
        "type": "quantitative",
        "title": None,
        "scale": {"domain": [0, 1]},
        "axis": {"format": "%", "values": [0, 0.5, 1]},
    }
    colour = {
        "field": "seat",
        "type": "nominal",
        "legend": None,
        "scale": {"domain": ["A", "B"], "range": [paint(name) for name in AGENTS]},
    }
    dash = {
        "field": "seat",
        "type": "nominal",
        "legend": None,
        "scale": {"domain": ["A", "B"], "range": [[1, 0], [6, 4]]},
    }
    single = {"type": "point", "filled": True, "size": 60} if len(data) <= 2 else {
        "type": "line", "strokeWidth": 2}  # fmt: skip
    tip = [{"field": name} for name in ("agent", "round", "share", "low", "high")]
    band = {
        "data": {"values": [d for d in data if d["low"] is not None]},
        "mark": {"type": "area", "opacity": 0.18},
        "encoding": {
            "x": x,
            "y": y | {"field": "low"},
            "y2": {"field": "high"},
            "color": colour,
        },
    }
    line = {
        "data": {"values": data},
        "mark": single,
        "encoding": {"x": x, "y": y, "color": colour, "tooltip": tip}
        | ({"strokeDash": dash} if len(data) > 2 else {}),
    }
    words = "; ".join(
        f"{name}: {_course(points)}"
        for name, points in zip(names, courses, strict=True)
    )
    return chart([band, line], height, paint), words


def _course(points: list[Course]) -> str:
    if not points:
        return "no complete match"
    average = percent(sum(p.share for p in points) / len(points))
    return (
        f"{percent(points[0].share)} in round 1, {percent(points[-1].share)} in the last,"
        f" {average} on average"
    )


def svg(spec: dict, name: str, words: str) -> str:
    """The drawing, as an element of a page, with its name and what it shows."""
    import vl_convert

    drawn = vl_convert.vegalite_to_svg(json.dumps(spec), vl_version=VERSION)
    named = (
        f'<svg role="img" aria-label="{escape(name)}"\\1><title>{escape(name)}</title>'
        f"<desc>{escape(words)}</desc>"
    )
    # Roles and labels of single marks name nothing: the drawing as a whole has a name and words.
    drawn = re.sub(
        r' (?:xmlns(?::xlink)?|version|class|role|aria-[a-z]+)="[^"]*"', "", drawn
    )
    return re.sub(r"^<svg([^>]*)>", lambda m: named.replace("\\1", m[1]), drawn)
