"""Small SVG charts without scripts; colours come from the page's variables."""

from html import escape

WIDTH, HEIGHT = 280, 110
LEFT, RIGHT, TOP, BOTTOM = 26, 6, 8, 20
MOST_POINTS = 100


def binned(series: list[float], most: int = MOST_POINTS) -> list[tuple[float, float]]:
    """(round number from 1, value) points; long series are averaged into at most `most` bins."""
    size = -(-len(series) // most) if series else 1
    return [
        (start + 1 + (len(part) - 1) / 2, sum(part) / len(part))
        for start in range(0, len(series), size)
        for part in [series[start:start + size]]
    ]


def cooperation_chart(a: list[float], b: list[float], names: tuple[str, str]) -> str:
    """Share of C by round of both agents, 0 to 1."""
    played = max(len(a), len(b))
    last = max(played, 2)

    def x(t: float) -> float:
        return LEFT + (t - 1) / (last - 1) * (WIDTH - LEFT - RIGHT)

    def y(rate: float) -> float:
        return TOP + (1 - rate) * (HEIGHT - TOP - BOTTOM)

    def line(series: list[float], kind: str) -> str:
        if len(series) == 1:
            return f'<circle class="{kind}" cx="{x(1):.1f}" cy="{y(series[0]):.1f}" r="2.5"/>'
        points = " ".join(f"{x(t):.1f},{y(v):.1f}" for t, v in binned(series))
        return f'<polyline class="{kind}" points="{points}"/>'

    grid = "".join(
        f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(v):.1f}" y2="{y(v):.1f}"/>'
        f'<text x="{LEFT - 4}" y="{y(v) + 3:.1f}" text-anchor="end">{v:g}</text>'
        for v in (0, 0.5, 1)
    )
    axis = (
        f'<text x="{LEFT}" y="{HEIGHT - 5}">1</text>'
        f'<text x="{WIDTH - RIGHT}" y="{HEIGHT - 5}" text-anchor="end">round {last}</text>'
        f"{line(a, 'a')}{line(b, 'b')}"
        if played
        else f'<text x="{WIDTH / 2:g}" y="{y(0.25):.1f}" text-anchor="middle">no valid round</text>'
    )
    label = escape(f"Share of C by round: {names[0]} and {names[1]}")
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}">{grid}{axis}</svg>'
    )


def interval_bar(value: float, interval: tuple[float, float] | None, low: float, high: float
                 ) -> str:
    """A dot with its interval on a scale from `low` to `high` points."""
    width, mid = 200, 9
    span = (high - low) or 1

    def x(v: float) -> float:
        return 6 + (v - low) / span * (width - 12)

    bar = ""
    if interval:
        bar = (f'<line class="interval" x1="{x(interval[0]):.1f}" x2="{x(interval[1]):.1f}"'
               f' y1="{mid}" y2="{mid}"/>')
    return (f'<svg class="bar" viewBox="0 0 {width} 18" aria-hidden="true">'
            f'<line class="grid" x1="6" x2="{width - 6}" y1="{mid}" y2="{mid}"/>{bar}'
            f'<circle cx="{x(value):.1f}" cy="{mid}" r="4"/></svg>')
