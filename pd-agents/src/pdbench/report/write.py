"""`pdbench report`: report.html and report.md, in the run's folder."""

from pathlib import Path

from pdbench.report.content import read_content
from pdbench.report.render import html, markdown
from pdbench.storage.manifest import write_atomically


def write_report(run_dir: Path) -> list[Path]:
    """Write both files and return their paths; RunError where the run can't be read."""
    content = read_content(run_dir)
    written = {run_dir / "report.html": html(content), run_dir / "report.md": markdown(content)}
    for path, text in written.items():
        write_atomically(path, text.encode("utf-8"))
    return list(written)
