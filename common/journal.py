"""The journal: one line an attempt, written before its reply counts, chained by SHA-256.

`prev` of a line is the hash of the bytes of the line before it (of the run's identity for the
first), so a line can't be changed, dropped or added unseen. A torn last line, which is what
SIGKILL or a full disk leaves, is cut off on load; a damaged line elsewhere is an error.
"""

import errno
import json
import math
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from common import Incomplete, UsageError, shape, wire
from common.artifacts import (
    LONGEST,
    gzip_parts,
    lines_of,
    parsed,
    regular,
    sha256,
    write_atomic,
)
from common.reading import read
from common.shape import (
    FLAG,
    NUMBER,
    OBJECT,
    TEXT,
    TIME,
    is_number,
    maybe,
    plain,
    sometimes,
    whole,
)
from common.wire import NOT_RUN, Exchange, Model, Reading, Reply, Request

JOURNALS = ("journal.jsonl", "journal.jsonl.gz")  # while calls are left; afterwards
CHUNK = 1 << 20  # bytes that are packed at a time
ADVICE = "restore it from a copy, or use another --run-id"


def json_sha256(value: Any) -> str:
    """Of a body that was sent, or of a run's identity, which ties the first line to it."""
    return sha256(json.dumps(value, sort_keys=True, separators=(",", ":")))


class Attempt(NamedTuple):
    """One exchange over a request: the body that was sent, what came, what it cost and when (UTC).
    `outcome` None: it will be repeated."""

    request: Request
    sent: dict
    exchange: Exchange
    outcome: str | None
    reply: Reply
    charged_usd: float
    at: str


def record(prev: str, number: int, attempt: Attempt) -> bytes:
    """One journal line, its newline included; `number`: of the attempt, from 1."""
    request, exchange, reply = attempt.request, attempt.exchange, attempt.reply
    line = {
        "prev": prev,
        "id": request.id,
        "attempt": number,
        "stage": request.stage,
        "at": attempt.at,
        "outcome": attempt.outcome,
        "message": reply.message,
        "latency_s": round(exchange.latency_s, 4),
        "cost_usd": reply.cost_usd,
        "charged_usd": attempt.charged_usd,
        "request_sha256": request.sha256(),
        "request": attempt.sent,
        "response": {
            "status": exchange.status,
            "headers": exchange.headers,
            "body": exchange.body,
            "error": exchange.error,
        },
    } | ({"final": True} if reply.final else {})
    return _written(line) + b"\n"


def _written(line: Mapping[str, Any]) -> bytes:
    return json.dumps(line, ensure_ascii=True, separators=(",", ":")).encode("ascii")


def entries(
    path: Path, first_prev: str | None = None
) -> Iterator[tuple[dict, int, str]]:
    """(entry, offset after its line and newline, hash of the line) of every line, one at a time.

    The chain is checked; `first_prev` None accepts any identity. UsageError names the file, the
    line and the fault. The torn last line, where there is one, is not among them, unless it is torn
    in front of its newline; a packed journal has none.
    """
    prev, end, packed = first_prev, 0, str(path).endswith(".gz")
    for number, line in enumerate(_lines(path), 1):
        entry, torn = _parse(line), not line.endswith(b"\n") and len(line) < LONGEST
        if entry is None and torn and not packed:
            return
        if entry is None or (torn and packed):
            raise _damaged(path, number, "not a journal line")
        if prev is not None and entry["prev"] != prev:
            why = (
                "belongs to another configuration"
                if number == 1
                else f"does not follow from line {number - 1}"
            )
            raise _damaged(path, number, why)
        prev = sha256(line.rstrip(b"\n"))
        end += len(line) + torn
        yield entry, end, prev


def _lines(path: Path) -> Iterator[bytes]:
    try:
        with regular(path) as file:
            yield from lines_of(file)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}; {ADVICE}") from None


AMOUNT = plain(
    f"a number from 0 up to {wire.MOST_USD:g}",
    lambda v: is_number(v) and 0 <= v < wire.MOST_USD,
)
LINE = shape.record(
    prev=TEXT,
    id=TEXT,
    attempt=whole(1),
    stage=TEXT,
    at=TIME,
    outcome=maybe(TEXT),
    message=maybe(TEXT),
    latency_s=NUMBER,
    cost_usd=maybe(AMOUNT),
    charged_usd=AMOUNT,
    request_sha256=TEXT,
    request=plain(
        "a request", lambda v: isinstance(v, dict) and isinstance(v.get("model"), str)
    ),
    response=shape.record(
        status=maybe(whole(0)), headers=OBJECT, body=TEXT, error=TEXT
    ),
    final=sometimes(FLAG),
)


def _parse(line: bytes) -> dict | None:
    """The entry of a line, None where the line is not as `record` would write it."""
    try:
        entry = parsed(line)
        if b"\\ud" in line.lower():  # half of a character can't be written again
            json.dumps(entry, ensure_ascii=False).encode()
        same = LINE.fault(entry) is None and _written(entry) == line.rstrip(b"\n")
    except (ValueError, RecursionError):
        return None
    return entry if same else None


def _damaged(path: Path, number: int, why: str) -> UsageError:
    return UsageError(
        f"{path} line {number}: {why}; the journal was damaged or edited: {ADVICE}"
    )


def check_present(folder: Path) -> None:
    """Incomplete where somebody has taken the folder of a run away meanwhile."""
    if not folder.exists():
        raise Incomplete(
            f"{folder}: the folder was moved or deleted while the run went on; put it "
            "back, then give the same command"
        )


def _full(path: Path, error: OSError) -> Incomplete:
    return Incomplete(
        f"{path}: {error.strerror or error}; free space there, then give "
        "the same command: everything up to the last whole line is kept"
    )


class Journal:
    """The open journal of one run. Only the thread that drives the calls may use it."""

    def __init__(self, folder: Path, identity: dict) -> None:
        self.path = Path(folder) / "journal.jsonl"
        self.packed = Path(folder) / "journal.jsonl.gz"
        if (
            self.packed.exists() and not self.path.exists()
        ):  # calls are left to make after all
            data = b"".join(_lines(self.packed))
            if not data:
                raise UsageError(f"{self.packed}: empty; {ADVICE}")
            self._guard(write_atomic, self.path, data)
        self.fd = self._guard(
            os.open, self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644
        )
        past = Answers(self.path, identity)
        self.simulated = past.simulated
        # Attempts of each id; answers that need no further asking, by id and by (stage, model).
        self.size, self.prev, self.attempts = past.size, past.head_sha256, past.tries
        self.spent, self.last_at = past.charged_usd, past.last_at
        self.answers = {
            name: answer
            for name, answer in past.read.items()
            if _for_good(answer.reply)
        }
        self.finals = Counter(
            (answer.stage, answer.model) for answer in self.answers.values()
        )
        # (stage, model, dollars charged, dollars it cost) of each answer that tells of money.
        self.charges = [
            (answer.stage, answer.model, answer.charged_usd, answer.reply.cost_usd)
            for answer in self.answers.values()
            if answer.reply.outcome in wire.PAID_OUTCOMES
            or answer.reply.cost_usd is not None
        ]
        if os.fstat(self.fd).st_size < self.size:  # its last newline is lost
            self._guard(os.write, self.fd, b"\n")
        else:
            os.ftruncate(self.fd, self.size)  # a torn line goes
        self._syncer, self._sync = ThreadPoolExecutor(1, "journal-sync"), Future()
        self._sync.set_result(None)

    def append(self, attempt: Attempt) -> None:
        """Hand one attempt to the system in one write; it is on disk within a second. Incomplete
        where it can't be kept."""
        if self._sync.done():
            self._sync.result()
        name = attempt.request.id
        line = record(self.prev, self.attempts[name] + 1, attempt)
        self._check_same()
        try:
            done = os.write(self.fd, line)
            if done < len(
                line
            ):  # what fits is written first; the error comes with the rest
                os.write(self.fd, line[done:])
        except OSError as error:
            with suppress(OSError):
                os.ftruncate(self.fd, self.size)
            raise _full(self.path, error) from None
        self.size += len(line)
        self.prev = sha256(line[:-1])
        self.attempts[name] += 1
        # What is asked for already and has not begun will sync this line too. Simulated answers
        # can be had again for nothing.
        if not self.simulated and (self._sync.done() or self._sync.running()):
            self._sync = self._syncer.submit(self._sync_after, self._sync)

    def _check_same(self) -> None:
        """UsageError where the file is no longer what was written so far."""
        check_present(self.path.parent)
        here = os.fstat(self.fd)
        there = os.stat(self.path) if self.path.exists() else None
        if there is None or here.st_ino != there.st_ino or here.st_size != self.size:
            raise UsageError(
                f"{self.path}: shortened or replaced while the run was writing it; "
                f"{ADVICE}"
            )

    def _guard(self, action, *args):
        try:
            return action(*args)
        except OSError as error:
            raise _full(self.path, error) from None

    def _sync_after(self, before: Future) -> None:
        before.result()
        self._guard(os.fsync, self.fd)

    def close(self) -> None:
        """Sync and close. Safe to call twice."""
        if self.fd is not None:
            self._syncer.shutdown()
            fd, self.fd = self.fd, None
            try:
                self._sync.result()
                self._guard(os.fsync, fd)
            finally:
                os.close(fd)

    def pack(self) -> None:
        """After `close`: journal.jsonl → journal.jsonl.gz, then the plain one goes."""
        with open(self.path, "rb") as file:
            packed = gzip_parts(iter(partial(file.read, CHUNK), b""), level=6)
        self._guard(write_atomic, self.packed, packed)
        self.path.unlink()


def _note(line: bytes) -> tuple[str, int, float]:
    """(id, attempt, dollars) of a line of calls in flight; a torn one was never sent."""
    try:
        entry = json.loads(line)
        return str(entry["id"]), int(entry["attempt"]), float(entry["usd"])
    except (ValueError, KeyError, TypeError):
        return "", 0, 0.0


class InFlight:
    """What was sent and is not yet answered, with its worst case in dollars.

    A killed run's calls may have been billed all the same. The next start finds them here and
    charges them to the budget, so that the limit holds over any number of kills.
    """

    def __init__(self, folder: Path) -> None:
        self.path = Path(folder) / "inflight.jsonl"

    def lost(self, attempts: Counter[str]) -> float:
        """Dollars reserved for attempts that the journal (`attempts` of each id) lacks."""
        if not self.path.exists():
            return 0.0
        notes = map(_note, self.path.read_bytes().split(b"\n"))
        return math.fsum(
            usd for name, attempt, usd in notes if attempt > attempts[name]
        )

    def note(self, request: Request, attempt: int, usd: float) -> None:
        """Before the call is sent. Incomplete where it can't be kept; UsageError where no journal
        could hold its id."""
        try:
            request.id.encode()
        except UnicodeEncodeError:
            raise UsageError(
                f"the id {request.id!a} holds half of a character, which can't be "
                "journalled; rename the model or bulletin that it names"
            ) from None
        line = json.dumps({"id": request.id, "attempt": attempt, "usd": usd}) + "\n"
        check_present(self.path.parent)
        try:
            with open(self.path, "ab", buffering=0) as file:
                if file.write(line.encode()) < len(line):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as error:
            raise _full(self.path, error) from None

    def clear(self) -> None:
        """Every call is in the journal, or its worst case has been charged."""
        self.path.unlink(missing_ok=True)


# --- A journal read back: what each request was answered, without asking anybody ---


class Known(NamedTuple):
    """What a manifest says was known of the models, by which requests were made and priced."""

    models: Mapping[str, Model]
    dialect: str
    routing: Mapping[str, Any] | None


class Read(NamedTuple):
    """The last attempt at an id: hashes of the question, of the body sent and of the answer."""

    reply: Reply
    stage: str
    model: str
    question_sha256: str
    sent_sha256: str
    at: str  # when the answer came, UTC
    charged_usd: float
    response_sha256: str


class Answers:
    """A journal read back, its chain checked from the run's identity on.

        answers(request)             # its reply; `NOT_RUN` where it was never answered
        answers.problems()           # of what was asked of it, what the journal has otherwise

    A request that failed after its retries has its error as reply. `charged_usd` counts every
    attempt. UsageError names the line that is damaged, out of order, or answers a question twice.
    """

    def __init__(
        self, path: Path, identity: Mapping[str, Any], known: Known | None = None
    ) -> None:
        """`known`: None where what was sent and charged is not to be compared."""
        self.path, self.known = Path(path), known
        self.simulated = identity.get("provider") == "simulated"
        self.read: dict[str, Read] = {}
        self.questions: dict[
            str, str
        ] = {}  # {id: SHA-256 of what its first attempt asked}
        self.tries: Counter[str] = Counter()
        self.errors: Counter[str] = Counter()
        self.dealt: set[str] = set()
        self.wrong: list[str] = []
        self.attempts = self.repeated = self.waits = 0
        self.size = 0  # bytes of whole lines
        self.last_at, charges = "", []
        self.head_sha256 = json_sha256(identity)
        for entry, end, digest in entries(self.path, self.head_sha256):
            self.attempts, self.size, self.head_sha256 = self.attempts + 1, end, digest
            self.last_at = entry["at"]
            charges.append(entry["charged_usd"])
            reading = read(
                Exchange(**entry["response"]), now=0.0
            )  # as it was read live
            self.tries[entry["id"]] += 1
            if reading.error_type:
                self.errors[reading.error_type] += 1
            if entry["outcome"] is None:
                self.repeated += 1
                self.waits += bool(reading.wait or reading.limit)
            else:
                self._keep(entry, reading)
            if known is not None:
                self.wrong += [
                    f"{entry['id']}: {fault}" for fault in self._faults(entry, reading)
                ]
        self.charged_usd = math.fsum(charges)

    def _faults(self, entry: dict, reading: Reading) -> Iterator[str]:
        """What a line says otherwise than the raw response in it, and than the lines before."""
        reply, outcome = reading.reply, entry["outcome"]
        number, question = self.tries[entry["id"]], entry["request_sha256"]
        if entry["attempt"] != number:
            yield f"attempt {entry['attempt']}, and it is number {number}"
        if self.questions.setdefault(entry["id"], question) != question:
            yield "another question than its first attempt asked"
        if outcome not in (
            (reply.outcome,) if reading.kind == "final" else (None, "provider_error")
        ):
            yield f"outcome {outcome!r}, and the response says {reply.outcome!r}"
        if (entry.get("final") is True) != (outcome is not None and reply.final):
            yield f"final {entry.get('final')!r}, and the response says {reply.final}"
        cost = wire.cost_of(reply, self.known.models[entry["request"]["model"]])
        if not _same(entry["cost_usd"], cost):
            yield f"cost_usd {entry['cost_usd']}, and the response says {cost}"
        if cost is not None and not _same(entry["charged_usd"], cost):
            yield f"charged_usd {entry['charged_usd']}, and the response cost {cost}"

    def _keep(self, entry: dict, reading: Reading) -> None:
        before = self.read.get(entry["id"])
        if before is not None and _for_good(before.reply):
            raise UsageError(
                f"{self.path} line {self.attempts}: {entry['id']} is answered twice; "
                f"{ADVICE}"
            )
        reply = reading.reply._replace(
            outcome=entry["outcome"],
            cost_usd=entry["cost_usd"],
            quantization=wire.precision(entry["request"]),
        )
        self.read[entry["id"]] = Read(
            reply,
            entry["stage"],
            entry["request"]["model"],
            entry["request_sha256"],
            json_sha256(entry["request"]) if self.known else "",
            entry["at"],
            entry["charged_usd"],
            sha256(entry["response"]["body"]),
        )

    def __call__(self, request: Request) -> Reply:
        """The reply; how the journalled question differs from `request` is noted in `wrong`."""
        self.dealt.add(request.id)
        answer, known = self.read.get(request.id), self.known
        if answer is None:
            return NOT_RUN
        if answer.question_sha256 != request.sha256() or answer.stage != request.stage:
            self.wrong.append(
                f"{request.id}: another question than design and prompts give"
            )
        elif known and answer.sent_sha256 != json_sha256(
            wire.body(
                request, known.models[request.model], known.dialect, known.routing
            )
        ):
            self.wrong.append(
                f"{request.id}: the request sent is not what the design would send"
            )
        return answer.reply

    def problems(self) -> list[str]:
        """What the journal has otherwise than the requests that were dealt."""
        foreign = (
            f"{name}: not in the design"
            for name in sorted(self.tries.keys() - self.dealt)
        )
        return [f"journal: {line}" for line in (*self.wrong, *foreign)]

    def outcomes(self, ids: Iterable[str]) -> Counter[str]:
        """Calls by outcome; one that has no answer is `not_run`."""
        return Counter(
            self.read[name].reply.outcome if name in self.read else "not_run"
            for name in ids
        )

    def failed(self) -> int:
        """Calls that failed and are asked again by the next start."""
        return sum(
            answer.reply.outcome == "provider_error" and not _for_good(answer.reply)
            for answer in self.read.values()
        )

    def answered(self) -> Iterator[Read]:
        """What has an answer, be it one that can't be used."""
        return (
            answer
            for answer in self.read.values()
            if answer.reply.outcome in wire.FINAL_OUTCOMES
        )

    def leaves(self) -> Iterator[dict[str, str]]:
        """What the Merkle root covers, by id; no text of prompt or answer is in it."""
        return (
            {
                "id": name,
                "outcome": answer.reply.outcome,
                "question_sha256": answer.question_sha256,
                "response_sha256": answer.response_sha256,
            }
            for name, answer in sorted(self.read.items())
        )


def _same(a: float | None, b: float | None) -> bool:
    return a == b or (
        None not in (a, b) and math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12)
    )


def _for_good(reply: Reply) -> bool:
    return reply.outcome in wire.FINAL_OUTCOMES or reply.final


def journal_file(folder: Path) -> Path:
    """The run's journal, plain while calls are left, packed afterwards."""
    for name in JOURNALS:
        if (Path(folder) / name).exists():
            return Path(folder) / name
    raise UsageError(f"{folder}: no journal.jsonl.gz; restore it from a copy")
