"""Writes what a paper takes from a study: a methods paragraph, a LaTeX table, a
citation.

    files(report, {folder: manifest}, registration)     {"methods.md": …, "table.tex": …, …}
    posted(folder)      {"preregistration.md": …}, the text to post before the first call
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from cirrus.judge import prereg
from common import VERSION, UsageError
from common.artifacts import canonical_json, read_bytes, sha256
from show.document import Document, tables, words_of
from show.document import files as shown
from show.figures import count

Manifests = Mapping[Path, Mapping[str, Any]]  # {a run's folder: its manifest}
EFFECTS = "effects"  # name of the table with a tournament's contrasts
DIGITS = 16  # characters of a hash that a sentence shows
HASHES = f"cirrus-bench {VERSION}, SHA-256"
SERVED = {"served": "Models, as served", "upstreams": "Upstreams"}
INTERVALS = (
    "Decisions were averaged inside bulletins and wordings, then over them; intervals are at 95%, "
    "shared by the models of a study, over bulletins and wordings, and no narrower than Newcombe's. "
    "Answers without exactly one readable option are missing, and counted against each contrast."
)
# Characters that have a meaning in LaTeX, or that pdflatex has no letter for.
TEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "−": "$-$",
        "–": "--",
        "×": r"$\times$",
        "δ": r"$\delta$",
        "→": r"$\to$",
        "…": r"\ldots{}",
        **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    }
)
CITATION = """@software{{cirrus_bench,
  author = {{{{The cirrus-bench authors}}}},
  title = {{cirrus-bench: behavioural experiments on language models}},
  version = {{{version}}},
  year = {{2026}},
  note = {{{note}}}
}}
"""


def files(
    report: Document, manifests: Manifests, registration: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Return {file name: content} of a paper's files, with figures and CSVs.

    `registration` is what `prereg` says of the runs. Raise UsageError for an unfinished
    run, which has no estimates.
    """
    for run, manifest in manifests.items():
        if manifest["state"] != "complete":
            raise UsageError(f"--paper: {run} is unfinished; its command resumes it")
    roots = [manifest["merkle_root"][:DIGITS] for manifest in manifests.values()]
    note = f"Answers of the runs reported, by Merkle root: {', '.join(roots)}"
    parts = [*report.stamps, report.question, *_asked(manifests), INTERVALS]
    parts.append(_registered(registration))
    made = {
        "methods.md": f"{' '.join(parts)}\n",
        "table.tex": _latex(report),
        "cite.bib": CITATION.format(version=VERSION, note=note),
    }
    for run in manifests:
        made |= posted(run) | posted(run.parent)
    return made | dict(shown(report))


def _asked(manifests: Manifests) -> Iterator[str]:
    """Yield sentences on the models as served, the settings, and the hashes of
    prompts, code and answers."""
    facts: dict[str, dict[str, set[str]]] = {}
    for manifest in manifests.values():
        for kind, name, value in _facts(manifest):
            facts.setdefault(kind, {}).setdefault(name, set()).add(value)
    for kind, names in facts.items():
        each = [f"{name} {', '.join(sorted(its))}" for name, its in names.items()]
        yield f"{kind}: {'; '.join(each)}."


def _facts(manifest: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield (kind, name, value) for everything that a methods section states of a
    run."""
    for kind in ("served", "upstreams"):
        for model, names in manifest[kind].items():
            for name in names:
                known = name if name != str(None) else "not named"
                yield SERVED[kind], model, f"({known})"
    identity = manifest["identity"]
    for key, value in identity["config"].items():
        if value is None:
            value = "as the model does"
        if not isinstance(value, (dict, list)):
            yield "Settings", key.replace("_", " "), str(value)
    yield HASHES, "prompts", sha256(canonical_json(identity["prompts"]))[:DIGITS]
    code = manifest["unproven"]["code"]
    yield HASHES, "code", sha256(canonical_json(code))[:DIGITS]
    yield HASHES, "answers", manifest["merkle_root"][:DIGITS]
    yield HASHES, "journal", manifest["journal"]["head_sha256"][:DIGITS]


def _registered(registration: Mapping[str, Any] | None) -> str:
    """Return the sentence on the preregistration and any deviations from it."""
    if registration is None or not registration["heads"]:
        return "The analysis is exploratory: the study was not preregistered."
    heads = ", ".join(sorted(set(registration["heads"].values())))
    told = f"The analysis is {registration['kind']}; preregistration, SHA-256: {heads}."
    deviations = "; ".join(registration["deviations"])
    if deviations:
        told += f" Deviations: {deviations}."
    return told


def _latex(report: Document) -> str:
    """Return a LaTeX table: a tournament's effects, or another study's verdicts."""
    table: Any = report.verdicts
    for each in tables(report):
        if each.name == EFFECTS:
            table = each
    columns = "l" + "r" * (len(table.head) - 1)
    title = f"{report.title}, {table.name}."
    caption = " ".join([title, *report.stamps]).translate(TEX)
    lines = [
        "% \\usepackage{booktabs}",
        "\\begin{table}",
        f"\\caption{{{caption}}}",
        f"\\begin{{tabular}}{{{columns}}}",
        "\\toprule",
        _row(table.head),
        "\\midrule",
        *map(_row, table.rows),
        "\\bottomrule",
        "\\end{tabular}",
        "\\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _row(cells: Iterable[Any]) -> str:
    """Return a table row in LaTeX."""
    words = [words_of(cell).translate(TEX) for cell in cells]
    return " & ".join(words) + r" \\"


def posted(folder: Path) -> dict[str, str]:
    """Return {"preregistration.md": text} for the registration in a folder, {} where
    there is none."""
    data = prereg.load(folder)
    if data is None:
        return {}
    digest = sha256(read_bytes(folder / prereg.FILE))
    models, seeds = ", ".join(data["models"]), ", ".join(map(str, data["seeds"]))
    runs = count(len(data["runs"]), "run")
    lines = [
        f"# Preregistration: {data['plan']}\n",
        f"{prereg.FILE}, SHA-256 `{digest}`, which names every prompt and file of code by hash.\n",
        f"- models: {models}",
        f"- seeds: {seeds}",
        f"- runs: {runs}, plan `{data['plan_sha256']}`",
    ]
    for name, words in data["primary"].items():
        lines.append(f"- {name.replace('_', ' ')}: {words}")
    lines += [f"- excluded: {words}" for words in data["exclusions"]]
    lines.append(f"- stopping: {data['stopping_rule']}")
    return {"preregistration.md": "\n".join(lines) + "\n"}
