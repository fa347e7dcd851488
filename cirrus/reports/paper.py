"""What a paper takes from a study: a paragraph on methods, a table, a citation, the registration.

files(report, {folder: manifest}, registration)     {"methods.md": …, "table.tex": …, …}
posted(folder)                    {"preregistration.md": …}: the text to post before the first call
"""

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from cirrus.judge import prereg
from common import VERSION, UsageError
from common.artifacts import canonical_json, read_bytes, sha256
from show.document import Document, tables, words_of
from show.document import files as shown
from show.figures import count

Manifests = Mapping[Path, Mapping[str, Any]]  # {a run's folder: its manifest}
EFFECTS = "effects"  # the table of a tournament that has its contrasts
DIGITS = 16  # of a hash in a sentence
INTERVALS = (
    "Decisions were averaged inside bulletins and wordings, then over them; intervals are at 95%, "
    "shared by the models of a study, over bulletins and wordings, and no narrower than Newcombe's. "
    "Answers without exactly one readable option are missing, and counted against each contrast."
)
# What LaTeX reads otherwise, and what pdflatex has no letter for.
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
    """{file name: content}, figures and CSVs included; `registration`: as `prereg` says it.
    UsageError for an unfinished run, which shows no estimate."""
    for run, manifest in manifests.items():
        if manifest["state"] != "complete":
            raise UsageError(f"--paper: {run} is unfinished; its command resumes it")
    roots = [manifest["merkle_root"][:DIGITS] for manifest in manifests.values()]
    note = f"Answers of the runs reported, by Merkle root: {', '.join(roots)}"
    parts = [*report.stamps, report.question, *_asked(manifests), INTERVALS]
    parts += _hashes(manifests)
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
    """Models as served, settings, and how the answers ended, in a sentence each."""
    served: dict[str, set[str]] = {}
    outcomes: dict[str, int] = {}
    settings: dict[str, set[str]] = {}
    for manifest in manifests.values():
        for model, names in manifest["served"].items():
            upstreams = manifest["upstreams"].get(model, ())
            served.setdefault(model, set()).update(names, upstreams)
        for outcome, times in manifest["outcomes"].items():
            outcomes[outcome] = outcomes.get(outcome, 0) + times
        for key, value in manifest["identity"]["config"].items():
            if not isinstance(value, (dict, list)):
                name = key.replace("_", " ")
                settings.setdefault(name, set()).add(_said(value))
    models = [f"{model} ({_listed(names)})" for model, names in served.items()]
    yield f"Models, with the names and upstreams that served them: {'; '.join(models)}."
    each = [f"{name} {_listed(values)}" for name, values in settings.items()]
    yield f"Settings: {', '.join(each)}."
    ended = [f"{times:,} {outcome}" for outcome, times in outcomes.items()]
    yield f"Calls ended so: {', '.join(ended)}."


def _said(value: Any) -> str:
    return "as the model does" if value is None else str(value)


def _listed(values: Collection[str]) -> str:
    return ", ".join(sorted(values))


def _hashes(manifests: Manifests) -> Iterator[str]:
    """What was asked, by which code, and what was answered, so that others can compare."""
    for run, manifest in manifests.items():
        prompts = sha256(canonical_json(manifest["identity"]["prompts"]))
        code = sha256(canonical_json(manifest["unproven"]["code"]))
        head, root = manifest["journal"]["head_sha256"], manifest["merkle_root"]
        hashes = {"prompts": prompts, "code": code, "answers": root, "journal": head}
        each = [f"{name} {digest[:DIGITS]}" for name, digest in hashes.items()]
        yield f"Run {run.name} (cirrus-bench {VERSION}), SHA-256: {', '.join(each)}."


def _registered(registration: Mapping[str, Any] | None) -> str:
    if registration is None or not registration["heads"]:
        return "The analysis is exploratory: the study was not preregistered."
    heads = _listed(set(registration["heads"].values()))
    told = f"The analysis is {registration['kind']}; preregistration, SHA-256: {heads}."
    if registration["why"]:
        told += f" {registration['why']}: {'; '.join(registration['deviations'])}."
    return told


def _latex(report: Document) -> str:
    """The effects of a tournament, the verdicts of another study, as a table for booktabs."""
    table = report.verdicts
    for each in tables(report):
        if each.name == EFFECTS:
            table = each
    columns = "l" + "r" * (len(table.head) - 1)
    caption = " ".join([f"{report.title}, {table.name}.", *report.stamps])
    lines = [
        "% \\usepackage{booktabs}",
        "\\begin{table}",
        f"\\caption{{{caption.translate(TEX)}}}",
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


def _row(cells: Collection[Any]) -> str:
    return " & ".join(words_of(cell).translate(TEX) for cell in cells) + r" \\"


def posted(folder: Path) -> dict[str, str]:
    """The text of a preregistration, to be posted with its hash; {} where none lies here."""
    data = prereg.load(folder)
    if data is None:
        return {}
    digest = sha256(read_bytes(folder / prereg.FILE))
    lines = [
        f"# Preregistration: {data['plan']}\n",
        f"{prereg.FILE}, SHA-256 `{digest}`, which names every prompt and file of code by hash.\n",
        f"- models: {', '.join(data['models'])}",
        f"- seeds: {', '.join(map(str, data['seeds']))}",
        f"- runs: {count(len(data['runs']), 'run')}, plan `{data['plan_sha256']}`",
    ]
    for name, words in data["primary"].items():
        lines.append(f"- {name.replace('_', ' ')}: {words}")
    lines += [f"- excluded: {words}" for words in data["exclusions"]]
    lines.append(f"- stopping: {data['stopping_rule']}")
    return {"preregistration.md": "\n".join(lines) + "\n"}
