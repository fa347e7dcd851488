"""Small SVG charts without scripts; colours and dashes come from the page's sheet."""

from html import escape

from pdbench.report.figures import interval as span
from pdbench.report.figures import percent, plain

WIDTH, HEIGHT = 280, 116
LEFT, RIGHT, TOP, BOTTOM = 38, 6, 8, 22
MOST_POINTS = 100
LINES = ("d1 s-present", "d2 s-absent")  # agent A solid, agent B dashed
DOTS = ("c-present", "c-absent")


def binned(series: list[float], most: int = MOST_POINTS) -> list[tuple[float, float]]:
    """(round number from 1, value) points; long series are averaged into at most `most` bins."""
    size = -(-len(series) // most) if series else 1
    return [
        (start + 1 + (len(part) - 1) / 2, sum(part) / len(part))
        for start in range(0, len(series), size)
        for part in [series[start:start + size]]
    ]


def cooperation_chart(a: list[float], b: list[float], names: tuple[str, str]) -> str:
    """Share of C by round of both agents, 0 to 100%."""
    played = max(len(a), len(b))
    last = max(played, 2)

    def x(t: float) -> float:
        return LEFT + (t - 1) / (last - 1) * (WIDTH - LEFT - RIGHT)

    def y(rate: float) -> float:
        return TOP + (1 - rate) * (HEIGHT - TOP - BOTTOM)

    def line(series: list[float], seat: int) -> str:
        if len(series) == 1:
            return f'<circle class="{DOTS[seat]}" cx="{x(1):.1f}" cy="{y(series[0]):.1f}" r="3"/>'
        points = " ".join(f"{x(t):.1f},{y(v):.1f}" for t, v in binned(series))
        return f'<polyline class="stroke {LINES[seat]}" points="{points}"/>'

    grid = "".join(
        f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(v):.1f}" y2="{y(v):.1f}"/>'
        f'<text class="dim" x="{LEFT - 4}" y="{y(v) + 4:.1f}" text-anchor="end">{percent(v)}</text>'
        for v in (0, 0.5, 1)
    )
    axis = (
        f'<text class="dim" x="{LEFT}" y="{HEIGHT - 5}">1</text>'
        f'<text class="dim" x="{WIDTH - RIGHT}" y="{HEIGHT - 5}" text-anchor="end">round {last}'
        f"</text>{line(a, 0)}{line(b, 1)}"
        if played
        else f'<text class="dim" x="{WIDTH / 2:g}" y="{y(0.25):.1f}" text-anchor="middle">'
        "no valid round</text>"
    )
    label = escape(f"Share of C by round: {names[0]} and {names[1]}")
    says = escape("; ".join(f"{name}: {_course(series)}"
                            for name, series in zip(names, (a, b), strict=True)))
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}"><title>{label}'
        f"</title><desc>{says}</desc>{grid}{axis}</svg>"
    )


def _course(series: list[float]) -> str:
    if not series:
        return "no valid round"
    mean = percent(sum(series) / len(series))
    return f"{percent(series[0])} in round 1, {percent(series[-1])} in the last, {mean} on average"


def interval_bar(value: float, interval: tuple[float, float] | None, low: float, high: float
                 ) -> str:
    """A dot with its interval on a scale from `low` to `high` points."""
    width, mid = 200, 9
    reach = (high - low) or 1

    def x(v: float) -> float:
        return 6 + (v - low) / reach * (width - 12)

    bar = ""
    if interval:
        bar = (f'<line class="range s-estimate" x1="{x(interval[0]):.1f}"'
               f' x2="{x(interval[1]):.1f}" y1="{mid}" y2="{mid}"/>')
    said = f"{plain(value)} points" + (f", {span(*interval)}" if interval else "")
    return (f'<svg class="dot" viewBox="0 0 {width} 18" role="img" aria-label="{said}">'
            f"<title>{said}</title>"
            f'<line class="grid" x1="6" x2="{width - 6}" y1="{mid}" y2="{mid}"/>{bar}'
            f'<circle class="c-estimate" cx="{x(value):.1f}" cy="{mid}" r="4"/></svg>')
