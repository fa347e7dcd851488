"""Keep the journal of a run: one log of all that was sent and all that came back,
chained by SHA-256.

Before a call leaves, a line "sent" tells what the call may cost at most. Each attempt
gets a line with the raw answer, written before anything uses the reply. A line also
tells when a model is set aside.

`prev` of a line is the hash of the bytes of the line before it; for the first line it
is the hash of the run's identity. So nobody can change, drop or add a line unnoticed.
SIGKILL or a full disk may leave a last line that is incomplete ("torn"); it is cut off
on load. A damaged line anywhere else is an error.
"""

import json
import math
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

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
from common.reading import read, refused_parameter
from common.shape import FLAG, NUMBER, OBJECT, TEXT, TIME, is_number, maybe, whole
from common.wire import (
    NOT_RUN,
    PLAIN,
    Adapted,
    Exchange,
    Model,
    Reading,
    Reply,
    Request,
)

T = TypeVar("T")
JOURNALS = ("journal.jsonl", "journal.jsonl.gz")  # while calls are left; afterwards
CHUNK = 1 << 20  # bytes that are packed at a time
ADVICE = "restore it from a copy, or use another --run-id"


def json_sha256(value: Any) -> str:
    """Return the SHA-256 of a value's canonical JSON: of a body that was sent, or of a
    run's identity, to which the first line is chained."""
    return sha256(json.dumps(value, sort_keys=True, separators=(",", ":")))


# --- lines -------------------------------------------------------------------------------------


class Attempt(NamedTuple):
    """One attempt at a request: the body that was sent, what came back, what it cost,
    and when (UTC). `outcome` None means that the call will be tried again."""

    request: Request
    sent: Mapping[str, Any]
    exchange: Exchange
    outcome: str | None
    reply: Reply
    charged_usd: float
    at: str

    def line(self, number: int) -> dict[str, Any]:
        """Return the attempt as the journal writes it. `number` counts the attempts at
        this request, from 1."""
        request, exchange, reply = self.request, self.exchange, self.reply
        response = {
            "status": exchange.status,
            "headers": exchange.headers,
            "body": exchange.body,
            "error": exchange.error,
        }
        out = {
            "id": request.id,
            "attempt": number,
            "stage": request.stage,
            "at": self.at,
            "outcome": self.outcome,
            "message": reply.message,
            "latency_s": round(exchange.latency_s, 4),
            "cost_usd": reply.cost_usd,
            "charged_usd": self.charged_usd,
            "request_sha256": request.sha256(),
            "request": self.sent,
            "response": response,
        }
        if reply.final:
            out["final"] = True
        return out


AMOUNT = shape.plain(
    f"a number from 0 up to {wire.MOST_USD:g}",
    lambda value: is_number(value) and 0 <= value < wire.MOST_USD,
)
BODY = shape.plain(
    "a request",
    lambda value: isinstance(value, dict) and isinstance(value.get("model"), str),
)
GOT = shape.record(
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
    request=BODY,
    response=shape.record(
        status=maybe(whole(0)), headers=OBJECT, body=TEXT, error=TEXT
    ),
    final=shape.sometimes(FLAG),
)
SENT = shape.record(prev=TEXT, sent=TEXT, at=TIME, worst_usd=AMOUNT)
ASIDE = shape.record(prev=TEXT, set_aside=TEXT, kind=TEXT, why=TEXT, at=TIME)


def kind_of(entry: Any) -> shape.Kind:
    """Return the shape that a line of the journal must have."""
    if isinstance(entry, dict) and "sent" in entry:
        return SENT
    if isinstance(entry, dict) and "set_aside" in entry:
        return ASIDE
    return GOT


def _written(line: Mapping[str, Any]) -> bytes:
    return json.dumps(line, ensure_ascii=True, separators=(",", ":")).encode("ascii")


def _entry(line: bytes) -> dict[str, Any] | None:
    """Return the entry of a line, or None if this project would not write the line like
    that."""
    try:
        entry: dict[str, Any] = parsed(line)
        if b"\\ud" in line.lower():  # half of a character can't be written again
            json.dumps(entry, ensure_ascii=False).encode()
        same = _written(entry) == line.rstrip(b"\n")
    except (ValueError, TypeError, RecursionError):
        return None
    if not same or kind_of(entry).fault(entry):
        return None
    return entry


def entries(
    path: Path, first_prev: str | None = None
) -> Iterator[tuple[dict[str, Any], int, str]]:
    """Yield (entry, offset of the next line, hash of the line) for each line of a
    journal, one at a time.

    The chain is checked; `first_prev` None accepts any identity. UsageError names the
    file, the line and the fault. A torn last line is not yielded, unless only its
    newline is missing. A packed journal has no torn line.
    """
    prev, end = first_prev, 0
    packed = str(path).endswith(".gz")
    for number, line in enumerate(_lines(path), 1):
        entry = _entry(line)
        torn = not line.endswith(b"\n") and len(line) < LONGEST
        if entry is None and torn and not packed:
            return
        if entry is None or (torn and packed):
            raise _damaged(path, number, "not a journal line")
        if prev is not None and entry["prev"] != prev:
            raise _damaged(path, number, _out_of_chain(number))
        prev = sha256(line.rstrip(b"\n"))
        end += len(line) + torn
        yield entry, end, prev


def _out_of_chain(number: int) -> str:
    if number == 1:
        return "belongs to another configuration"
    return f"does not follow from line {number - 1}"


def _lines(path: Path) -> Iterator[bytes]:
    try:
        with regular(path) as file:
            yield from lines_of(file)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}; {ADVICE}") from None


def _damaged(path: Path, number: int, why: str) -> UsageError:
    return UsageError(
        f"{path} line {number}: {why}; the journal was damaged or edited: {ADVICE}"
    )


def journal_file(folder: Path) -> Path:
    """Return the path of the run's journal, which is plain while calls are left and
    packed afterwards."""
    for name in JOURNALS:
        if (Path(folder) / name).exists():
            return Path(folder) / name
    raise UsageError(f"{folder}: no journal.jsonl.gz; restore it from a copy")


# --- read back: what each request was answered, without asking anybody --------------------------


class Known(NamedTuple):
    """What the manifest says was known of the models when requests were made and
    priced."""

    models: Mapping[str, Model]
    dialect: str
    upstream: str | None = None

    def body(self, request: Request, adapted: Adapted = PLAIN) -> dict[str, Any]:
        """Return the body that would be sent for `request`."""
        model = self.models[request.model]
        return wire.body(request, model, self.dialect, adapted, self.upstream)


class Read(NamedTuple):
    """The last attempt at a call, with the hashes of the question, of the body sent and
    of the answer."""

    reply: Reply
    stage: str
    model: str
    question_sha256: str
    sent_sha256: str
    at: str  # when the answer came, UTC
    charged_usd: float
    response_sha256: str

    @property
    def for_good(self) -> bool:
        """Whether the call is never made again: asking until another outcome comes
        would select outcomes."""
        return self.reply.outcome in wire.FINAL_OUTCOMES or self.reply.final


def taught(
    adapted: Adapted,
    exchange: Exchange,
    reading: Reading,
    sent: Mapping[str, Any],
    model: Model,
) -> Adapted | None:
    """Return how the model is to be asked from now on, if an attempt at a warm-up call
    shows that the call must be repeated: without a parameter that was refused, or with
    more room. Return None if the answer stands."""
    if reading.kind == "fatal":
        refused = refused_parameter(exchange, sent)
        if refused is None or (refused == "provider" and "provider" in sent):
            return None
        return wire.without(adapted, refused)
    reply = reading.reply
    thought_only = reply.outcome == "empty" and bool(
        reply.reasoning or reply.reasoning_tokens
    )
    if reading.kind == "final" and (reply.outcome == "truncated" or thought_only):
        return wire.widened(adapted, model)
    return None


class Answers:
    """A journal that was read back, with its chain checked from the run's identity on.

        answers(request)             # the reply; `NOT_RUN` if there is none
        answers.problems()           # where the journal differs from the requests made of it

    A request that failed after all retries has the error as its reply. `charged_usd`
    sums all attempts. `lost_usd` sums the calls that were sent and never answered, at
    the most they may have cost. UsageError names a line that is damaged, out of order,
    or answers a question twice.
    """

    def __init__(
        self, path: Path, identity: Mapping[str, Any], known: Known | None = None
    ) -> None:
        """Read the journal at `path`. If `known` is None, what was sent and charged is
        not compared."""
        self.path, self.known = Path(path), known
        self.simulated = identity.get("provider") == "simulated"
        self.read: dict[str, Read] = {}
        # {id: SHA-256 of what its first attempt asked}
        self.questions: dict[str, str] = {}
        self.tries: Counter[str] = Counter()
        self.errors: Counter[str] = Counter()
        self.dealt: set[str] = set()
        self.wrong: list[str] = []
        # {id of an unanswered call: the dollars that it may cost at most}
        self.open: dict[str, float] = {}
        self.adapted: dict[tuple[str, str], Adapted] = {}  # by (model, stage)
        self.set_aside: dict[str, tuple[str, str]] = {}  # {model: (kind, why)}
        self.attempts = self.repeated = self.waits = 0
        self.size = 0  # bytes of whole lines
        self.last_at = ""
        self.head_sha256 = json_sha256(identity)
        charges: list[float] = []
        lost: list[float] = []
        for entry, end, digest in entries(self.path, self.head_sha256):
            self.size, self.head_sha256, self.last_at = end, digest, entry["at"]
            if "sent" in entry:
                # An earlier start may have sent this call and got no answer.
                lost.append(self.open.pop(entry["sent"], 0.0))
                self.open[entry["sent"]] = entry["worst_usd"]
            elif "set_aside" in entry:
                self.set_aside[entry["set_aside"]] = entry["kind"], entry["why"]
            else:
                charges.append(entry["charged_usd"])
                self._take(entry)
        self.charged_usd = math.fsum(charges)
        self.lost_usd = math.fsum([*lost, *self.open.values()])

    def _take(self, entry: dict[str, Any]) -> None:
        """Take in the line of an attempt."""
        name, sent = entry["id"], entry["request"]
        self.attempts += 1
        self.tries[name] += 1
        self.open.pop(name, None)
        self.set_aside.pop(sent["model"], None)  # it was tried again since
        exchange = Exchange(**entry["response"])
        reading = read(exchange, now=0.0)  # as it was read live
        if reading.error_type:
            self.errors[reading.error_type] += 1
        if entry["stage"] == wire.WARMUP:
            self._learn(entry, exchange, reading)
        if entry["outcome"] is None:
            self.repeated += 1
            self.waits += bool(reading.wait or reading.limit)
        else:
            self._keep(entry, reading)
        if self.known is not None:
            faults = self._faults(entry, reading)
            self.wrong += [f"{name}: {fault}" for fault in faults]

    def _learn(
        self, entry: dict[str, Any], exchange: Exchange, reading: Reading
    ) -> None:
        """Apply what a warm-up call taught, as the live session did."""
        sent = entry["request"]
        model = self._model(sent["model"])
        key = sent["model"], wire.stage_of(entry["id"])
        adapted = wire.asked(self.adapted.get(key, PLAIN), sent)
        if entry["outcome"] is None:
            more = taught(adapted, exchange, reading, sent, model)
            self.adapted[key] = adapted if more is None else more
        elif entry["outcome"] in wire.FINAL_OUTCOMES:
            self.adapted[key] = wire.fitted(adapted, reading.reply, model)

    def _model(self, name: str) -> Model:
        if self.known is None:
            return Model()
        return self.known.models[name]

    def _faults(self, entry: dict[str, Any], reading: Reading) -> Iterator[str]:
        """Yield each point in which a line contradicts the raw response that it holds,
        or the lines before it."""
        reply, outcome = reading.reply, entry["outcome"]
        number, question = self.tries[entry["id"]], entry["request_sha256"]
        if entry["attempt"] != number:
            yield f"attempt {entry['attempt']}, and it is number {number}"
        if self.questions.setdefault(entry["id"], question) != question:
            yield "another question than its first attempt asked"
        possible: tuple[str | None, ...] = (None, "provider_error")
        if reading.kind == "final":
            possible = (reply.outcome,)
            if entry["stage"] == wire.WARMUP:
                possible = (reply.outcome, None)  # repeated with more room
        if outcome not in possible:
            yield f"outcome {outcome!r}, and the response says {reply.outcome!r}"
        final = outcome is not None and reply.final
        if (entry.get("final") is True) != final:
            yield f"final {entry.get('final')!r}, and the response says {reply.final}"
        cost = wire.cost_of(reply, self._model(entry["request"]["model"]))
        if not _same(entry["cost_usd"], cost):
            yield f"cost_usd {entry['cost_usd']}, and the response says {cost}"
        if cost is not None and not _same(entry["charged_usd"], cost):
            yield f"charged_usd {entry['charged_usd']}, and the response cost {cost}"

    def _keep(self, entry: dict[str, Any], reading: Reading) -> None:
        before = self.read.get(entry["id"])
        if before is not None and before.for_good:
            raise UsageError(
                f"{self.path}: {entry['id']} is answered twice (attempt "
                f"{self.attempts}); {ADVICE}"
            )
        sent = entry["request"]
        self.read[entry["id"]] = Read(
            reply=reading.reply._replace(
                outcome=entry["outcome"], cost_usd=entry["cost_usd"]
            ),
            stage=entry["stage"],
            model=sent["model"],
            question_sha256=entry["request_sha256"],
            sent_sha256=json_sha256(sent) if self.known else "",
            at=entry["at"],
            charged_usd=entry["charged_usd"],
            response_sha256=sha256(entry["response"]["body"]),
        )

    def __call__(self, request: Request) -> Reply:
        """Return the reply to `request`. If the journal holds another question under
        this id, the difference is noted in `wrong`."""
        self.dealt.add(request.id)
        answer = self.read.get(request.id)
        if answer is None:
            return NOT_RUN
        same = answer.question_sha256 == request.sha256()
        if not same or answer.stage != request.stage:
            self.wrong.append(
                f"{request.id}: another question than design and prompts give"
            )
        elif self.known and request.stage != wire.WARMUP:
            adapted = self.adapted.get((request.model, request.stage), PLAIN)
            if answer.sent_sha256 != json_sha256(self.known.body(request, adapted)):
                self.wrong.append(
                    f"{request.id}: the request sent is not what the design would send"
                )
        return answer.reply

    def problems(self) -> list[str]:
        """Return a line for each point in which the journal differs from the requests
        that the study made."""
        foreign = [
            f"{name}: not in the design"
            for name in sorted(self.tries.keys() - self.dealt)
        ]
        return [f"journal: {line}" for line in (*self.wrong, *foreign)]

    def outcomes(self, ids: Iterable[str]) -> Counter[str]:
        """Count the calls by outcome; a call without an answer counts as `not_run`."""
        counts: Counter[str] = Counter()
        for name in ids:
            answer = self.read.get(name)
            counts["not_run" if answer is None else answer.reply.outcome] += 1
        return counts

    def trials(self) -> Iterator[Read]:
        """Yield the calls that have an outcome, without warm-ups."""
        for answer in self.read.values():
            if answer.stage != wire.WARMUP:
                yield answer

    def answered(self) -> Iterator[Read]:
        """Yield the trials that have an answer, even one that can't be used."""
        for answer in self.trials():
            if answer.reply.outcome in wire.FINAL_OUTCOMES:
                yield answer

    def leaves(self) -> Iterator[dict[str, str]]:
        """Yield the leaves of the Merkle tree, sorted by id. They hold no text of a
        prompt or an answer."""
        for name, answer in sorted(self.read.items()):
            yield {
                "id": name,
                "outcome": answer.reply.outcome,
                "question_sha256": answer.question_sha256,
                "response_sha256": answer.response_sha256,
            }


def _same(a: float | None, b: float | None) -> bool:
    if a is None or b is None:
        return a is b
    return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12)


# --- written -----------------------------------------------------------------------------------


def check_present(folder: Path) -> None:
    """Raise Incomplete if the run's folder has disappeared since the run began."""
    if not folder.exists():
        raise Incomplete(
            f"{folder}: the folder was moved or deleted while the run went on; put it "
            "back, then give the same command"
        )


def _full(path: Path, error: OSError) -> Incomplete:
    return Incomplete(
        f"{path}: {error.strerror or error}; free space there, then give the same command: "
        "everything up to the last whole line is kept"
    )


class Journal:
    """The open journal of one run. Only the thread that drives the calls may use it."""

    def __init__(
        self, folder: Path, identity: dict[str, Any], known: Known | None = None
    ) -> None:
        self.path = Path(folder) / JOURNALS[0]
        self.packed = Path(folder) / JOURNALS[1]
        # It was packed as complete, but calls are left now.
        if self.packed.exists() and not self.path.exists():
            data = b"".join(_lines(self.packed))
            if not data:
                raise UsageError(f"{self.packed}: empty; {ADVICE}")
            self._guard(write_atomic, self.path, data)
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND
        self._closed = False
        self.fd = self._guard(os.open, self.path, flags, 0o644)
        self.past = Answers(self.path, identity, known)
        self.size, self.prev = self.past.size, self.past.head_sha256
        self.tries = Counter(self.past.tries)
        if os.fstat(self.fd).st_size < self.size:  # its last newline is lost
            self._guard(os.write, self.fd, b"\n")
        else:
            os.ftruncate(self.fd, self.size)  # a torn line goes
        self._syncer = ThreadPoolExecutor(1, "journal-sync")
        self._sync: Future[None] = Future()
        self._sync.set_result(None)

    def answer(self, request: Request) -> Reply | None:
        """Return the reply that an earlier start received, or None if the request must
        still be sent. Raise UsageError if the earlier start asked it in other words."""
        answer = self.past.read.get(request.id)
        if answer is None or not answer.for_good:
            return None
        if answer.question_sha256 != request.sha256():
            raise UsageError(
                f"{self.path}: {request.id} was asked in other words than the prompts have "
                "now; use another --run-id"
            )
        return answer.reply

    def sent(self, request: Request, worst_usd: float, at: str) -> None:
        """Write that a call leaves. Raise UsageError if its id holds half of a
        character, which no journal can hold."""
        try:
            request.id.encode()
        except UnicodeEncodeError:
            raise UsageError(
                f"the id {request.id!a} holds half of a character, which can't be "
                "journalled; rename the model or bulletin that it names"
            ) from None
        self._append({"sent": request.id, "at": at, "worst_usd": worst_usd})

    def got(self, attempt: Attempt) -> None:
        """Write an attempt that is over; the line is on the disk within a second."""
        if self._sync.done():
            self._sync.result()
        name = attempt.request.id
        self.tries[name] += 1
        self._append(attempt.line(self.tries[name]))
        # Simulated answers cost nothing to repeat. A sync that is queued and has not
        # begun will write this line to the disk too.
        if self.past.simulated:
            return
        if self._sync.done() or self._sync.running():
            self._sync = self._syncer.submit(self._sync_after, self._sync)

    def set_aside(self, model: str, kind: str, why: str, at: str) -> None:
        self._append({"set_aside": model, "kind": kind, "why": why, "at": at})

    def _append(self, line: Mapping[str, Any]) -> None:
        """Pass a line to the system in one write. Raise Incomplete if it can't be
        kept."""
        data = _written({"prev": self.prev, **line}) + b"\n"
        self._check_same()
        try:
            done = os.write(self.fd, data)
            # A full disk takes a part without an error; the second write raises it.
            if done < len(data):
                os.write(self.fd, data[done:])
        except OSError as error:
            with suppress(OSError):
                os.ftruncate(self.fd, self.size)
            raise _full(self.path, error) from None
        self.size += len(data)
        self.prev = sha256(data[:-1])

    def _check_same(self) -> None:
        """Raise UsageError if the file no longer holds what this journal has
        written."""
        check_present(self.path.parent)
        here = os.fstat(self.fd)
        there = os.stat(self.path) if self.path.exists() else None
        same = there is not None and here.st_ino == there.st_ino
        if not same or here.st_size != self.size:
            raise UsageError(
                f"{self.path}: shortened or replaced while the run was writing it; {ADVICE}"
            )

    def _guard(self, action: Callable[..., T], *args: Any) -> T:
        try:
            return action(*args)
        except OSError as error:
            raise _full(self.path, error) from None

    def _sync_after(self, before: Future[None]) -> None:
        before.result()
        self._guard(os.fsync, self.fd)

    def close(self) -> None:
        """Sync and close the file. Calling this twice is safe."""
        if self._closed:
            return
        self._closed = True
        self._syncer.shutdown()
        try:
            self._sync.result()
            self._guard(os.fsync, self.fd)
        finally:
            os.close(self.fd)

    def pack(self) -> None:
        """After `close`, pack journal.jsonl as journal.jsonl.gz and remove the plain
        file."""
        with open(self.path, "rb") as file:
            packed = gzip_parts(iter(partial(file.read, CHUNK), b""), level=6)
        self._guard(write_atomic, self.packed, packed)
        self.path.unlink()
