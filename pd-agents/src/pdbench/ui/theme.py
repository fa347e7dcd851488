"""The viewer's theme from the reports' colours; `python -m pdbench.ui.theme` writes it anew.

Streamlit reads `.streamlit/config.toml` beside the app. Light or dark follows the browser.
"""

from pathlib import Path

from pdbench.report.charts import AGENTS
from pdbench.report.colours import COLOURS

CONFIG = Path(__file__).with_name(".streamlit") / "config.toml"
OPTIONS = {
    "primaryColor": "link",
    "backgroundColor": "paper",
    "secondaryBackgroundColor": "panel",
    "textColor": "ink",
    "linkColor": "link",
    "borderColor": "edge",
    "codeBackgroundColor": "panel",
    "codeTextColor": "ink",
    "grayTextColor": "dim",
    "yellowTextColor": "stamp",
    "yellowBackgroundColor": "stampground",
}


def config() -> str:
    """The file's text."""
    return "\n".join([HEAD, *map(_section, SCHEMES)])


SCHEMES = ("light", "dark")
HEAD = """# Written by `python -m pdbench.ui.theme`.

[theme]
headingFontSizes = ["1.7rem", "1.35rem", "1.1rem"]
metricValueFontSize = "1.5rem"
paddingTop = "2rem"
"""


def _section(scheme: str) -> str:
    lines = [
        f'{option} = "{getattr(COLOURS[name], scheme)}"'
        for option, name in OPTIONS.items()
    ]
    series = ", ".join(f'"{getattr(COLOURS[name], scheme)}"' for name in AGENTS)
    return "\n".join(
        [
            f"[theme.{scheme}]",
            *lines,
            "showWidgetBorder = true",
            f"chartCategoricalColors = [{series}]",
            "",
        ]
    )


if __name__ == "__main__":
    CONFIG.write_text(config(), encoding="utf-8")
