"""`pdbench report`: report.html and report.md, in the run's folder."""

from pathlib import Path

from pdbench.core.types import SIMULATED
from pdbench.report.content import answer, read_content
from pdbench.report.render import html, markdown
from pdbench.storage.manifest import write_atomically


def write_report(run_dir: Path) -> tuple[list[Path], str]:
    """Write both files: (their paths, what the run says); RunError where it can't be read."""
    content = read_content(run_dir)
    written = {
        run_dir / "report.html": html(content),
        run_dir / "report.md": markdown(content),
    }
    for path, text in written.items():
        write_atomically(path, text.encode("utf-8"))
    stamp = f"{SIMULATED} answers among them. " if content.simulated else ""
    return list(written), stamp + answer(content)
