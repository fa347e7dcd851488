"""A pilot's files again, from its manifest, the prompts and the journal alone.

    files = reread(Path("results/pilot/pilot-s42"))      # {name: content}

No key, no network. The prompts must be those of the run; what has changed is named.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cirrus import pilot
from cirrus.pilot_files import derive, redealt
from cirrus.scenario import load_domain
from common.exits import UsageError
from common.journal import entries, identity_hash, reply_of
from common.runs import changes
from common.wire import FINAL_OUTCOMES, NOT_RUN, Reply


def read_study(folder: Path) -> dict[str, Any]:
    """The run's identity; UsageError where the folder holds no pilot run."""
    path = Path(folder) / "manifest.json"
    try:
        manifest = json.loads(path.read_bytes())
        if manifest["artifact"] != "pilot":
            raise UsageError(f"{path}: a {manifest['artifact']} run, not a pilot")
        return manifest["identity"]
    except FileNotFoundError:
        raise UsageError(f"{folder}: no manifest.json; give the folder of a run") from None
    except (ValueError, KeyError, TypeError):
        raise UsageError(f"{path}: not a manifest; restore it from a copy") from None


def journal_of(folder: Path) -> Path:
    """The packed journal, or the plain one of an unfinished run."""
    for name in ("journal.jsonl", "journal.jsonl.gz"):
        if (Path(folder) / name).exists():
            return Path(folder) / name
    raise UsageError(f"{folder}: no journal.jsonl.gz; restore it from a copy")


def replies(folder: Path, study: Mapping) -> tuple[dict[str, Reply], dict[str, str]]:
    """({id: last reply}, {id: hash of the question} of the answered), the chain checked."""
    said: dict[str, Reply] = {}
    hashes: dict[str, str] = {}
    for entry, _, _ in entries(journal_of(folder), identity_hash(study)):
        if entry["outcome"] is not None:
            said[entry["id"]] = reply_of(entry)
        if entry["outcome"] in FINAL_OUTCOMES:
            hashes[entry["id"]] = entry["request_sha256"]
    return said, hashes


def reread(folder: Path) -> dict[str, bytes]:
    """Every derived file of the run, anew."""
    study = read_study(folder)
    domain = load_domain("cvd")
    differ = changes({"prompts": study["prompts"]}, {"prompts": dict(domain.files)})
    if differ:
        raise UsageError(f"{folder}: the prompts have changed since this run: "
                         f"{'; '.join(differ[:3])}; use the version that made it")
    blocks = pilot.design(domain, study["config"], study["config"]["models"])
    said, hashes = replies(folder, study)
    rows = pilot.rows(blocks, [[said.get(t.id, NOT_RUN) for t in block] for block in blocks])
    prompts = {t.id: (t.request.system, t.request.user) for block in blocks for t in block}
    return derive(rows, prompts, study, redealt(blocks, hashes))
