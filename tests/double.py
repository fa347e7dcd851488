"""A stand-in for OpenRouter on this machine: the same endpoints, scripted faults, its own ledger.

    python3 tests/double.py 0.2      # seconds an answer takes; prints the port it listens on
    python3 run_pilot.py --base-url http://127.0.0.1:PORT/api/v1 --models double/a

It bills a call when the call arrives (a caller that goes away is billed all the same) and keeps a
log of every question seen. An answer is a function of the question alone. In a test, `Double`
starts it as a process of its own, scripts it and reads its ledger.

Listens on 127.0.0.1 only; ends by itself after an hour and when its parent has gone.
"""

import hashlib
import json
import math
import os
import re
import socket
import struct
import subprocess
import sys
import threading
import time
import urllib.request
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from faults import FAULTS, Script, edited, error

PRICING = {"prompt": "0.000001", "completion": "0.000004"}  # dollars a token, as text
PARAMETERS = ["max_completion_tokens", "seed", "temperature"]
MODELS = {
    f"double/{letter}": {"pricing": PRICING, "supported_parameters": PARAMETERS}
    for letter in "abcd"
}
DROPS = 100  # of a drip that "never ends": ten seconds of it are enough to tell
CONTRACT = re.compile(r"Decision: \[([^|\]]+)\|([^\]]+)\]")
RATING = re.compile(r"^(\w+): yes\|no$", re.M)

SETUP: dict[str, Any] = {
    "models": MODELS,  # what answers, and how it bills: by PRICING where it lists none
    "catalogue": True,  # False: no GET /models, and any model name is served
    "show_cost": True,  # False: replies lack usage.cost
    "greedy": False,  # True: bills the most that prompt and output limit allow
    "latency_s": 0.0,
    "jitter_s": 0.0,  # latency is drawn from latency_s ± jitter_s, by the question
    "key": None,  # the only key that is let in; None: any, or none
    "limit_remaining": None,  # dollars, for GET /key
    "side": None,  # a fault that GET /models and GET /key answer with
    "faults": [],  # rules, see `Script`
    "says": [],  # texts with {choice} that are answered, dealt by the question
    "answer": None,  # a whole answer to every call: status, headers, json or raw
    "serves": {},  # fields of every answer, such as {"model": …, "provider": …}
}


class Server:
    """Setup, script, ledger and log; `Handler`s bring it requests."""

    def __init__(self, setup: dict) -> None:
        self.lock = threading.Lock()
        self.setup(setup)

    def setup(self, given: dict) -> None:
        if unknown := given.keys() - SETUP.keys():
            raise ValueError(f"no setting {sorted(unknown)}")
        self.set = SETUP | given
        self.script = Script(self.set["faults"])
        self.bills: list[float] = []
        self.log: list[dict] = []
        self.flying: set[int] = set()  # places in the log
        self.peak = self.connections = 0

    def ledger(self) -> dict:
        """Dollars billed; chat requests in order of arrival; most calls at once; connections."""
        return {
            "billed_usd": math.fsum(self.bills),
            "requests": self.log,
            "peak": self.peak,
            "connections": self.connections,
        }

    # -- endpoints ------------------------------------------------------------------------------

    def lists(self, path: str) -> dict:
        """What GET of models or of the key says."""
        data = None
        if path.endswith("/key"):
            data = {"limit_remaining": self.set["limit_remaining"]}
        elif path.endswith("/models") and self.set["catalogue"]:
            models = self.set["models"]
            data = [{"id": name, **entry} for name, entry in models.items()]
        if data is None:
            return error(404, "not found")
        return {"status": 200, "json": {"data": data}}

    def chat(self, request: dict) -> tuple[dict, dict]:
        """(the usual answer, the fault to be played on it)."""
        model = str(request.get("model"))
        entry = self.set["models"].get(model, None if self.set["catalogue"] else {})
        question = json.dumps(
            [model, request.get("messages"), request.get("seed")], sort_keys=True
        )
        digest = hashlib.sha256(question.encode()).hexdigest()
        fault = self.script.next(digest)
        sent = {key: request[key] for key in request if key != "messages"}
        noted = {"model": model, "seed": request.get("seed"), "sent": sent}
        noted["fault"] = fault and fault["name"]
        self.log.append(noted)
        if fault is None and entry is None:
            return error(404, f"{model} is not a valid model ID"), {}
        answer, usd = self.completion(request, entry or {}, digest)
        if fault is None or fault.get("bills"):
            self.bills.append(usd)
        return answer, self.set["answer"] or fault or {}

    def latency(self, body: bytes) -> float:
        """Seconds until the answer: a function of the question alone."""
        place = int(hashlib.sha256(body).hexdigest()[:8], 16) / 0xFFFFFFFF
        return self.set["latency_s"] + self.set["jitter_s"] * (2 * place - 1)

    def completion(self, request: dict, entry: dict, digest: str) -> tuple[dict, float]:
        """(a chat completion, its price): a function of the question alone."""
        words = "".join(m["content"] for m in request["messages"])
        rated = RATING.findall(words)
        if rated:
            text = ratings(rated, digest)
        else:
            text = self.decision(CONTRACT.search(words), digest)
        tokens_in, tokens_out = -(-len(words.encode()) // 4), -(-len(text) // 4)
        if self.set["greedy"]:
            tokens_in = len(words.encode()) + 64
            tokens_out = request.get("max_completion_tokens", request.get("max_tokens"))
        price = {"request": 0.0, **PRICING, **entry.get("pricing", {})}
        usd = float(price["request"])
        usd += float(price["prompt"]) * tokens_in
        usd += float(price["completion"]) * tokens_out
        usage = {"prompt_tokens": tokens_in, "completion_tokens": tokens_out}
        usage["total_tokens"] = tokens_in + tokens_out  # Inspect asks for it
        if self.set["show_cost"]:
            usage["cost"] = usd
        choice = {"index": 0, "finish_reason": "stop", "native_finish_reason": "stop"}
        choice["message"] = {"role": "assistant", "content": text}
        answer = {"id": f"gen-{digest[:12]}", "model": f"{request['model']}-2026"}
        answer |= {"provider": "upstream-1", "usage": usage, "choices": [choice]}
        return answer | self.set["serves"], usd

    def decision(self, options: re.Match | None, digest: str) -> str:
        choice = "none"
        if options:
            choice = options.group(1 + int(digest[0], 16) % 2)
        usual = f"Decision: {{choice}}\nRationale: for {digest[:6]}."
        texts = self.set["says"] or [usual]
        text = texts[int(digest[:8], 16) % len(texts)]
        return text.replace("{choice}", choice)


def ratings(names: list[str], digest: str) -> str:
    """A yes or no for each name, by the digits of the digest."""
    lines = []
    for name, digit in zip(names, digest, strict=False):
        word = ("no", "yes")[int(digit, 16) % 2]
        lines.append(f"{name}: {word}")
    return "\n".join(lines)


# --- HTTP --------------------------------------------------------------------------------------


class Handler(BaseHTTPRequestHandler):
    """One kept-alive connection; requests come one after the other."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_: Any) -> None:
        pass

    def setup(self) -> None:
        super().setup()
        self.owner: Server = self.server.owner
        self.owner.connections += 1

    def do_GET(self) -> None:
        self.receive(b"")

    def do_POST(self) -> None:
        self.receive(self.rfile.read(int(self.headers["Content-Length"])))

    def receive(self, body: bytes) -> None:
        owner, settings = self.owner, self.owner.set
        key = self.headers.get("Authorization", "").removeprefix("Bearer ")
        if self.path == "/double":
            if body:
                owner.setup(json.loads(body))
            self.answer({"status": 200, "json": owner.ledger()})
        elif settings["key"] not in (None, key):
            self.answer(FAULTS["401"])
        elif body and self.path.endswith("/chat/completions"):
            self.chat(body)
        elif settings["side"]:
            self.answer(FAULTS[settings["side"]])
        else:
            self.answer(owner.lists(self.path))

    def chat(self, body: bytes) -> None:
        owner = self.owner
        with owner.lock:
            answer, fault = owner.chat(json.loads(body))
            latency = owner.log[-1]["latency_s"] = owner.latency(body)
            flying, place = owner.flying, len(owner.log)
            flying.add(place)
            owner.peak = max(owner.peak, len(flying))
        time.sleep(latency)
        with owner.lock:
            flying.discard(place)
        if "wire" in fault:
            self.close(fault["wire"].encode())
        elif "act" in fault:
            getattr(self, fault["act"])(answer)
        elif "status" in fault or "status" in answer:
            self.answer(fault if "status" in fault else answer)
        else:
            self.answer(edited(answer, fault))

    def answer(self, spec: dict) -> None:
        body = spec.get("bytes") or spec.get("raw", "").encode()
        if "json" in spec:
            body = json.dumps(spec["json"]).encode()
        lines = [f"HTTP/1.1 {spec['status']} X", f"Content-Length: {len(body)}"]
        lines.append(f"Date: {formatdate(usegmt=True)}")
        headers = {"Content-Type": "application/json"} | spec.get("headers", {})
        for name, value in headers.items():
            lines.append(f"{name}: {value}")
        self.wfile.write("\r\n".join([*lines, "", ""]).encode() + body)

    def close(self, data: bytes) -> None:
        self.wfile.write(data)
        self.close_connection = True

    # -- acts -----------------------------------------------------------------------------------

    def reset(self, answer: dict) -> None:
        linger = struct.pack("ii", 1, 0)  # close with RST instead of FIN
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.connection.close()
        self.close_connection = True

    def truncate(self, answer: dict) -> None:
        head = b"HTTP/1.1 200 X\r\nContent-Length: 999\r\n\r\n"
        self.close(head + json.dumps(answer).encode()[:100])

    def drip(self, answer: dict) -> None:
        self.close(b"HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in range(DROPS):
            self.wfile.write(b"1\r\n\n\r\n")
            time.sleep(0.1)

    def hang(self, answer: dict) -> None:
        self.rfile.read(1)  # until the caller has gone


class Listener(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A caller that has gone is no error."""


def serve(setup: dict) -> None:
    """Listen, print the port, end after an hour or with the parent."""
    listener = Listener(("127.0.0.1", 0), Handler)
    listener.owner = Server(setup)
    threading.Thread(target=listener.serve_forever, daemon=True).start()
    print(listener.server_port, flush=True)
    parent, ends = os.getppid(), time.monotonic() + 3600
    while time.monotonic() < ends and os.getppid() == parent:
        time.sleep(0.5)


# --- the side of a test ------------------------------------------------------------------------


class Double:
    """The double as a process of its own, scripted over HTTP."""

    def __init__(self, latency: float = 0.0) -> None:
        self.process = subprocess.Popen(
            [sys.executable, __file__, str(latency)], stdout=subprocess.PIPE, text=True
        )
        self.port = int(self.process.stdout.readline())
        self.url = f"http://127.0.0.1:{self.port}/api/v1"

    def script(self, **setup: Any) -> "Double":
        """Start anew: empty ledger and log, and `setup` over the defaults of SETUP."""
        self.ledger(json.dumps(setup).encode())
        return self

    def ledger(self, setup: bytes | None = None) -> dict:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(
            f"http://127.0.0.1:{self.port}/double", setup, timeout=20
        ) as reply:
            return json.load(reply)

    def __enter__(self) -> "Double":
        return self

    def __exit__(self, *_) -> None:
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


if __name__ == "__main__":
    serve({"latency_s": float(sys.argv[1])})
