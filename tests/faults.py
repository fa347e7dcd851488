"""What the double of the model API does wrong, on purpose: a table of faults, and who plays them.

A fault is a whole answer, an act on the connection, or one thing wrong in the usual answer.
"""

import hashlib
import json
from typing import Any


def said(status: int, message: str, headers: dict | None = None, **more: Any) -> dict:
    """An answer in OpenRouter's error shape."""
    return {"status": status, "headers": headers or {},
            "json": {"error": {"code": status, "message": message, **more}}}


# What a fault does: a whole answer (status, headers, json or raw), an `act` on the connection, or
# an `edit` of the usual answer. `bills`: the call is paid for all the same.
FAULTS: dict[str, dict] = {
    "400": said(400, "this model does not take temperature"),
    "401": said(401, "No auth credentials found"),
    "402": said(402, "Insufficient credits"),
    "403-key": said(403, "Key limit exceeded"),
    "403-moderation": said(403, "Input flagged", metadata={
        "reasons": ["violence"], "flagged_input": "Exploit code", "provider_name": "upstream"}),
    "404": said(404, "No endpoints found for this model"),
    "408": said(408, "Request timed out"),
    "413": said(413, "Payload too large"),
    "422": said(422, "Unprocessable"),
    "429": said(429, "Rate limit exceeded"),
    "429-seconds": said(429, "Rate limit exceeded", {"Retry-After": "2"}),
    "429-date": said(429, "Rate limit exceeded", {"Retry-After": "{date+2}"}),
    "429-minute": said(429, "Rate limit exceeded", {"Retry-After": "60"}),
    "429-nonsense": said(429, "Rate limit exceeded", {"Retry-After": "1e999, soon"}),
    "429-available": said(429, "Rate limit exceeded",
                          availability={"retryable": True, "retry_after": 3}),
    "400-passes": said(400, "warming up", availability={"retryable": True}),
    "503-never": said(503, "The model was withdrawn", availability={"retryable": False}),
    "code-as-text": {"status": 200, "json": {"error": {"code": "503", "message": "No capacity"}}},
    "error-as-text": {"status": 200, "json": {"error": "something went wrong"}},
    "500": said(500, "Internal Server Error"),
    "502": said(502, "Upstream gave an invalid response"),
    "502-filter": said(502, "The response was stopped by the upstream's content filter"),
    "503": said(503, "No provider is available"),
    "504": said(504, "Gateway timeout"),
    "524": said(524, "A timeout occurred"),
    "529": said(529, "Upstream overloaded"),
    "error-in-200": said(502, "Upstream gave an invalid response") | {"status": 200},
    "error-in-choice": {"edit": "error-in-choice", "bills": False},
    "reset": {"act": "reset", "bills": False},
    "reset-billed": {"act": "reset", "bills": True},
    "truncated": {"act": "truncate", "bills": True},
    "drip": {"act": "drip", "bills": True},
    "hang": {"act": "hang", "bills": True},
    "html": {"status": 502, "raw": "<html><body><h1>Bad gateway</h1></body></html>",
             "headers": {"Content-Type": "text/html"}},
    "html-200": {"status": 200, "raw": "<html><body>Log in to the hotel's wifi</body></html>",
                 "headers": {"Content-Type": "text/html"}},
    "empty-200": {"status": 200, "raw": ""},
    "no-content": {"status": 204, "raw": ""},
    "no-object": {"status": 200, "raw": "[[]]"},
    "deep": {"status": 200, "raw": '{"choices":' + "[" * 100_000},
    "bad-utf8": {"status": 200, "bytes": b'{"choices": [{"message": {"content": "\xff\xfe\x80'},
    "bad-gzip": {"status": 200, "raw": "not packed", "headers": {"Content-Encoding": "gzip"}},
    "event-stream": {"status": 200, "headers": {"Content-Type": "text/event-stream"},
                     "raw": ": OPENROUTER PROCESSING\n\ndata: [DONE]\n\n"},
    "cut-json": {"edit": "cut-json", "bills": True},
    "bad-chunk": {"act": "bad_chunk", "bills": True},
    "no-http": {"act": "no_http", "bills": False},
    "closed": {"act": "closed", "bills": False},
    "moved": {"status": 302, "raw": "", "headers": {"Location": "http://127.0.0.1:1/"}},
    "other-type": {"edit": "other-type", "bills": True},
    "in-parts": {"edit": "in-parts", "bills": True},
    "null-finish": {"edit": "null-finish", "bills": False},
    "no-choices": {"edit": "no-choices", "bills": True},
    "null-content": {"edit": "null-content", "bills": True},
    "empty-content": {"edit": "empty-content", "bills": True},
    "length-empty": {"edit": "length-empty", "bills": True},
    "content-filter": {"edit": "content-filter", "bills": True},
    "newlines": {"edit": "newlines", "bills": True},
    "huge": {"edit": "huge", "bills": True},
    "no-cost": {"edit": "no-cost", "bills": True},
    "no-usage": {"edit": "no-usage", "bills": True},
    "cache-hit": {"edit": "cache-hit", "bills": False},
    "echo-key": {"edit": "echo-key", "bills": True},
    "echo-key-401": {"status": 401, "echo": True},
    "echo-key-500": {"status": 500, "echo": True},
    "echo-key-200": {"status": 200, "echo": True},
    "echo-key-403": {"status": 403, "echo": True},
    "echo-key-escaped": {"edit": "echo-key-escaped", "bills": True},
}


class Script:
    """The faults still to be played. A rule: {"fault": name, "times": n (None: always),
    "skip": calls let through first, "every": of the rest each n-th, "model": only this one,
    "place": only the question that came as this one, from 0, "digest": only questions whose
    hash begins so, "message": words in place of the error's own}. Where no rule speaks, `mix`
    does: whether and how a call fails follows from the question and how often it was asked."""

    def __init__(self, rules: list[dict], mix: dict[str, float]) -> None:
        self.rules = [{"times": None, "skip": 0, "every": 1, "model": None, "place": None,
                       "digest": "", "message": None, "seen": 0} | rule for rule in rules]
        self.mix = mix
        self.places: dict[str, int] = {}
        self.asked: dict[str, int] = {}
        for name in (*mix, *(rule["fault"] for rule in self.rules)):
            if name not in FAULTS:
                raise ValueError(f"no fault {name!r}")

    def next(self, model: str, question: str) -> dict | None:
        """The fault to play on this call, with its name; None where there is none."""
        name, message = self.ruled(model, question) or (self.mixed(question), None)
        if name is None:
            return None
        fault = {"name": name} | FAULTS[name]
        if message is not None:
            error = fault["json"]["error"] | {"message": message}
            fault["json"] = fault["json"] | {"error": error}
        return fault

    def mixed(self, question: str) -> str | None:
        turn = self.asked[question] = self.asked.get(question, 0) + 1
        digest = hashlib.sha256(f"{question}/{turn}".encode()).hexdigest()
        place = int(digest[:12], 16) / 16 ** 12
        for name, share in self.mix.items():
            place -= share
            if place < 0:
                return name
        return None

    def ruled(self, model: str, question: str) -> tuple[str, str | None] | None:
        place = self.places.setdefault(question, len(self.places))
        for rule in self.rules:
            if rule["model"] not in (None, model) or rule["place"] not in (None, place):
                continue
            if rule["times"] == 0 or not question.startswith(rule["digest"]):
                continue
            rule["seen"] += 1
            after = rule["seen"] - rule["skip"]
            if after > 0 and after % rule["every"] == 0:
                if rule["times"] is not None:
                    rule["times"] -= 1
                return rule["fault"], rule["message"]
        return None


def echoed(fault: dict, authorization: str) -> dict:
    """An error that says the key aloud wherever it can."""
    reasons = [f"it says {authorization}"] if fault["status"] == 403 else []
    return said(fault["status"], f"bad credentials: {authorization}",
                {"Retry-After": authorization, "Content-Type": authorization},
                metadata={"reasons": reasons, "raw": {authorization: [authorization]}})


def edited(answer: dict, name: str, authorization: str) -> dict:
    """The usual answer with one thing wrong, as {status, headers, json, before}."""
    choice, usage = answer["choices"][0], answer["usage"]
    message = choice["message"]
    out: dict[str, Any] = {"status": 200, "headers": {}, "json": answer}
    if name == "error-in-choice":
        message["content"] = "Decis"
        choice |= {"finish_reason": "error",
                   "error": {"code": 502, "message": "the upstream broke off"}}
        usage["cost"] = 0
    elif name == "no-choices":
        answer["choices"] = []
    elif name == "null-content":
        message["content"] = None
    elif name == "empty-content":
        message["content"] = ""
    elif name == "length-empty":
        message["content"], choice["finish_reason"] = "", "length"
    elif name == "content-filter":
        choice["finish_reason"] = "content_filter"
    elif name == "newlines":
        out["before"] = "\n" * 200
    elif name == "other-type":
        out["headers"] = {"Content-Type": "text/html"}
    elif name == "in-parts":
        message["content"] = [{"type": "text", "text": part}
                              for part in message["content"].partition("\n")]
    elif name == "null-finish":
        message["content"], choice["finish_reason"] = "", None
        usage |= {"completion_tokens": 0, "cost": 0}
    elif name == "cut-json":
        out["raw"] = json.dumps(answer)[:-20]
    elif name == "huge":
        message["content"] = "All work and no play. " * (3_000_000 // 22)
    elif name == "no-cost":
        usage.pop("cost", None)
    elif name == "no-usage":
        del answer["usage"]
    elif name == "cache-hit":
        out["headers"] = {"X-OpenRouter-Cache-Status": "HIT"}
        answer["usage"] = {"prompt_tokens": 0, "completion_tokens": 0, "cost": 0}
    elif name == "echo-key":
        message["content"] += f"\nYou sent {authorization}."
        answer |= {"provider": authorization, "id": authorization, "model": authorization}
    elif name == "echo-key-escaped":  # as some servers write JSON: not a letter of it is plain
        hidden = "".join(f"\\u{ord(c):04X}" for c in authorization)
        message["content"] += "\nYou sent @@."
        out["raw"] = json.dumps(answer | {"provider": "@@", "model": "@@"}).replace("@@", hidden)
    return out
