"""A journal read back: what each request was answered, without asking anybody.

The reader of `journal.py`'s lines for everything that comes after the calls: files are derived
from these answers, and an auditor derives them again.
"""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from common import wire
from common.artifacts import sha256
from common.exits import UsageError
from common.journal import entries, identity_hash, reply_of
from common.wire import Reply, Request


class Answers(NamedTuple):
    """`replies`, `hashes` (of the question) and `said` (of the messages as sent) by request id.

    A request that failed after its retries has its error as reply; one that was never answered
    is not there. `charged_usd` counts every attempt.
    """

    replies: dict[str, Reply]
    hashes: dict[str, str]
    said: dict[str, str]
    attempts: int
    charged_usd: float
    head_sha256: str


def journal_file(folder: Path) -> Path:
    """The run's journal, plain while calls are left, packed afterwards."""
    for name in ("journal.jsonl", "journal.jsonl.gz"):
        if (Path(folder) / name).exists():
            return Path(folder) / name
    raise UsageError(f"{folder}: no journal.jsonl.gz; restore it from a copy")


def read_answers(path: Path, identity: Mapping[str, Any]) -> Answers:
    """Every answer of a run, its chain checked from the run's identity on.

    UsageError names the line that is damaged, out of order, or answers a question twice.
    """
    replies: dict[str, Reply] = {}
    hashes: dict[str, str] = {}
    said: dict[str, str] = {}
    start = head = identity_hash(dict(identity))
    attempts, charges = 0, []
    for entry, _, digest in entries(Path(path), start):
        attempts, head = attempts + 1, digest
        charges.append(entry["charged_usd"])
        name = entry["id"]
        if entry["outcome"] is None:
            continue
        if name in replies and replies[name].outcome in wire.FINAL_OUTCOMES:
            raise UsageError(f"{path} line {attempts}: {name} is answered twice")
        replies[name] = reply_of(entry)
        hashes[name] = entry["request_sha256"]
        said[name] = _hash_of(entry["request"].get("messages"))
    return Answers(replies, hashes, said, attempts, math.fsum(charges), head)


def said_hash(request: Request) -> str:
    """The hash of the messages that `request` sends, to compare with `Answers.said`."""
    return _hash_of([{"role": role, "content": text} for role, text in
                     (("system", request.system), ("user", request.user)) if text])


def _hash_of(messages: Any) -> str:
    return sha256(json.dumps(messages, ensure_ascii=True, separators=(",", ":")))


def not_as_asked(request: Request, answers: Answers) -> str | None:
    """How the journalled question differs from `request`; None where it does not."""
    if request.id not in answers.hashes:
        return None
    if answers.hashes[request.id] != request.sha256():
        return f"{request.id}: another question than design and prompts give"
    if answers.said[request.id] != said_hash(request):
        return f"{request.id}: the messages sent are not those of the question"
    return None
