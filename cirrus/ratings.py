"""Which policies are rated, by whom, and what the raters said.

    items = items_of(policies_of(study))               # {item id: Item}, one a distinct text
    dealt = sample(items.values(), n=200, seed=42)
    for rater in raters(places, items): rater.labels   # {item id: {family: True, False or None}}

An item is a text: policies that say the same are rated once. Its id follows from the text alone
and tells nothing about run, cell or decision. The sample takes texts in equal numbers from the
cells (as far as they reach) and is otherwise drawn by lot, so a marker that one cell writes more
than others is there in that measure: it is not enriched by any label, and shares in it are those
of the study wherever cells are of one size.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from cirrus.codebook import FAMILIES
from cirrus.decisions import Study, artifact
from cirrus.encounters import UNANSWERED
from common.artifacts import canonical_json, content_sha256, read_bytes, sha256
from common.exits import UsageError
from common.rng import SeededRandom

ROUND = "strategies_r1.json"
ROOT = Path(__file__).resolve().parents[1]
CODEBOOK = "adjudication/codebook.json"
PEOPLE = "ratings"             # folder of what people said, beside the analysis
RATINGS = "ratings.jsonl"      # what an adjudication derives from its journal
Labels = Mapping[str, bool | None]


class Policy(NamedTuple):
    """A readable policy. `id`: of the request, which decisions name; `cell`: of its run."""

    id: str
    role: str
    round: int
    cell: str
    text: str


class Item(NamedTuple):
    """A distinct text, and the cell of the first policy that says it."""

    id: str
    cell: str
    text: str


class Rater(NamedTuple):
    """`kind`: model or person. `served`: models that answered under the name. `done`: whether all
    that was asked is answered."""

    name: str
    kind: str
    simulated: bool
    done: bool
    labels: dict[str, Labels]
    statuses: dict[str, int]
    served: tuple[str, ...] = ()


# --- what is rated -----------------------------------------------------------------------------

def readable(status: str) -> bool:
    """Whether a policy of this status holds a text."""
    return status not in (*UNANSWERED, "empty", "blocked")


def cell_of(run) -> str:
    return f"{run.domain} S.{run.cell[0]}-C.{run.cell[1]}-H.{run.cell[2]}"


def policies_of(study: Study) -> Iterator[Policy]:
    """The policies of round 1 of the main runs: those on which the primary data rest."""
    for run in study.runs:
        if run.role == "main":
            for row in artifact(run, ROUND):
                if readable(row["policy_status"]):
                    yield Policy(row["policy_id"], run.role, 1, cell_of(run), row["policy"])


def item_id(text: str) -> str:
    """ "p-3f2a9c01d4b7": opaque, and nothing that a spreadsheet takes for a number."""
    return "p-" + sha256("cirrus-bench item\n" + text)[:12]


def items_of(policies: Iterable[Policy]) -> dict[str, Item]:
    """{id: item} of the policies of round 1 of main runs, in their order."""
    out: dict[str, Item] = {}
    for policy in policies:
        if policy.role == "main" and policy.round == 1:
            name = item_id(policy.text)
            out.setdefault(name, Item(name, policy.cell, policy.text))
    return out


def sample(items: Iterable[Item], n: int, seed: int) -> list[Item]:
    """`n` items or all, cell by cell in turn, each cell's by lot; in an order drawn at the end."""
    rng = SeededRandom(seed, "ratings")
    cells: dict[str, list[Item]] = {}
    for item in sorted(items, key=lambda item: item.id):
        cells.setdefault(item.cell, []).append(item)
    piles = [rng.stream(cell).sample(own, len(own)) for cell, own in sorted(cells.items())]
    drawn = []
    while len(drawn) < n and any(piles):
        turn = [pile.pop() for pile in piles if pile]
        drawn += rng.sample(turn, len(turn))[:n - len(drawn)]
    return rng.sample(drawn, len(drawn))


# --- the codebook as raters read it ------------------------------------------------------------

def codebook() -> dict[str, Any]:
    """prompts/adjudication/codebook.json; UsageError where it is not what raters need."""
    path = ROOT / "prompts" / CODEBOOK
    try:
        book = json.loads(path.read_text(encoding="utf-8"))
        whole = (set(book["families"]) == set(FAMILIES) and all(
            isinstance(text, str) for own in book["families"].values()
            for text in (own["yes"], own["no"])) and book["system"] and book["people"])
        rated = "\n\n".join(book["rating"]).format(policy="", families="", form="")
        if not whole or not rated:
            raise KeyError("families")
        return book
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}; restore it from a copy") from None
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise UsageError(f"{path}: not the codebook of five families ({error}); restore it from a "
                         "copy") from None


def codebook_files() -> dict[str, str]:
    """{path under prompts/: SHA-256}, for identities."""
    return {CODEBOOK: content_sha256(ROOT / "prompts" / CODEBOOK)}


def sheet_hash(items: Iterable[str]) -> str:
    """ "s-…" of the rated texts and the codebook: what a filled sheet must name."""
    return "s-" + sha256(canonical_json([sorted(items), codebook_files()]))[:12]


# --- what raters said --------------------------------------------------------------------------

def raters(places: Sequence[Path]) -> list[Rater]:
    """Everybody who rated: adjudications and people's ratings in the folders `places`."""
    found: dict[str, tuple[Rater, Path]] = {}
    for place in dict.fromkeys(Path(place).resolve() for place in places):
        for rater, path in (*_models(place), *_people(place)):
            if rater.name in found:
                raise UsageError(f"{path} and {found[rater.name][1]}: both hold ratings by "
                                 f"{rater.name}; move one of them away")
            found[rater.name] = rater, path
    return [rater for rater, _ in found.values()]


def adjudications(place: Path) -> list[tuple[Path, dict[str, Any]]]:
    """(folder, manifest) of the adjudications beside an analysis."""
    out = []
    for path in sorted(Path(place).glob("*/manifest.json")):
        try:
            manifest = json.loads(path.read_bytes())
            if manifest["artifact"] == "adjudication":
                out.append((path.parent, manifest))
        except (ValueError, KeyError, TypeError, OSError):
            continue  # some other run, which others read
    return out


def _models(place: Path) -> Iterator[tuple[Rater, Path]]:
    for folder, manifest in adjudications(place):
        rows = _rows(folder, manifest)
        for name in manifest["identity"]["config"]["models"]:
            own = [row for row in rows if row["rater"] == name]
            yield Rater(
                name, "model", manifest["identity"]["provider"] == "simulated",
                manifest["state"] == "complete",
                {row["item"]: row["labels"] for row in own if row["labels"] is not None},
                dict(sorted(Counter(row["status"] for row in own).items())),
                tuple(sorted({row["served_model"] for row in own if row["served_model"]}))), folder


def _rows(folder: Path, manifest: Mapping[str, Any]) -> list[dict[str, Any]]:
    path = folder / RATINGS
    if RATINGS not in manifest.get("files", {}):
        return []
    try:
        if content_sha256(path) != manifest["files"][RATINGS]:
            raise UsageError(f"{path}: not what its manifest.json has hashed; analyze.py --verify "
                             "says where it differs")
        rows = [json.loads(line) for line in read_bytes(path).splitlines()]
        for row in rows:
            _check_labels(row["labels"], str(path), row["item"])
            if not {"rater", "status", "served_model"} <= row.keys():
                raise KeyError("rater")
        return rows
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}; restore it from a copy, or move "
                         f"{folder} away") from None
    except (ValueError, KeyError, TypeError):
        raise UsageError(f"{path}: not ratings of an adjudication; restore it from a copy"
                         ) from None


def _check_labels(labels: Any, where: str, item: str) -> None:
    if labels is None:
        return
    if set(labels) != set(FAMILIES) or any(value not in (True, False, None)
                                           for value in labels.values()):
        raise UsageError(f"{where}: {item}: labels must be true, false or null for each of "
                         f"{', '.join(FAMILIES)}; restore it from a copy")


def _people(place: Path) -> Iterator[tuple[Rater, Path]]:
    for path in sorted((Path(place) / PEOPLE).glob("*.json")):
        try:
            data = json.loads(path.read_bytes())
            if data["artifact"] != PEOPLE or not isinstance(data["rater"], str):
                raise KeyError("artifact")
            labels = dict(data["labels"])
            for item, own in labels.items():
                _check_labels(own, str(path), item)
        except (ValueError, KeyError, TypeError, AttributeError):
            raise UsageError(f"{path}: not ratings that --import-ratings wrote; import the sheet "
                             "again, or move the file away") from None
        given = [own for own in labels.values() if any(v is not None for v in own.values())]
        partly = sum(None in own.values() for own in given)
        yield Rater(data["rater"], "person", False, True, labels,
                    {"ok": len(given) - partly, "partial": partly,
                     "missing": len(labels) - len(given)}), path


def person_file(rater: str) -> str:
    """ "ratings/anna-6f1c2b.json": a name for any rater."""
    plain = "".join(c if c.isascii() and c.isalnum() else "-" for c in rater.lower())[:40]
    return f"{PEOPLE}/{plain}-{sha256(rater)[:6]}.json"
