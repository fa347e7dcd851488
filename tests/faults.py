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
# keys of the usual answer that are others (see `edited`). `bills`: the call is paid all the same.
FAULTS: dict[str, dict] = {
    "401": said(401, "No auth credentials found"),
    "402": said(402, "Insufficient credits"),
    "403-key": said(403, "Key limit exceeded"),
    "403-moderation": said(403, "Input flagged", metadata={
        "reasons": ["violence"], "flagged_input": "Exploit code", "provider_name": "upstream"}),
    "404": said(404, "No endpoints found for this model"),
    "413": said(413, "Payload too large"),
    "429": said(429, "Rate limit exceeded"),
    "429-seconds": said(429, "Rate limit exceeded", {"Retry-After": "2"}),
    "429-date": said(429, "Rate limit exceeded", {"Retry-After": "{date+2}"}),
    "500": said(500, "Internal Server Error"),
    "error-in-choice": {
        "message": {"content": "Decis"}, "usage": {"cost": 0}, "choice": {
            "finish_reason": "error", "error": {"code": 502, "message": "it broke off"}}},
    "reset": {"act": "reset"},
    "reset-billed": {"act": "reset", "bills": True},
    "truncated": {"act": "truncate", "bills": True},
    "drip": {"act": "drip", "bills": True},
    "hang": {"act": "hang", "bills": True},
    "html": {"status": 502, "raw": "<html><body><h1>Bad gateway</h1></body></html>",
             "headers": {"Content-Type": "text/html"}},
    "deep": {"status": 200, "raw": '{"choices":' + "[" * 100_000},
    "bad-utf8": {"status": 200, "bytes": b'{"choices": [{"message": {"content": "\xff\xfe\x80'},
    "bad-gzip": {"status": 200, "raw": "not packed", "headers": {"Content-Encoding": "gzip"}},
    "bad-chunk": {"bills": True, "wire": "HTTP/1.1 200 X\r\nContent-Type: application/json\r\n"
                                         "Transfer-Encoding: chunked\r\n\r\nmany\r\n{}\r\n"},
    "no-http": {"wire": "220 mail.example ESMTP\r\n\r\n"},
    "closed": {"wire": ""},
    "moved": {"status": 302, "raw": "", "headers": {"Location": "http://127.0.0.1:1/"}},
    "no-choices": {"top": {"choices": []}, "bills": True},
    "null-content": {"message": {"content": None}, "bills": True},
    "length-empty": {"message": {"content": ""}, "choice": {"finish_reason": "length"},
                     "bills": True},
    "content-filter": {"choice": {"finish_reason": "content_filter"}, "bills": True},
    "newlines": {"text": lambda text: "\n" * 200 + text, "bills": True},
    "huge": {"message": {"content": "All work and no play. " * (3_000_000 // 22)}, "bills": True},
    "no-cost": {"usage": {"cost": None}, "bills": True},
    "no-usage": {"top": {"usage": None}, "bills": True},
    "cache-hit": {"headers": {"X-OpenRouter-Cache-Status": "HIT"},
                  "top": {"usage": {"prompt_tokens": 0, "completion_tokens": 0, "cost": 0}}},
    **{f"echo-key-{status}": {"echo": status} for status in (401, 403, 500, 200)},
    "echo-key": {"says": "{key}", "bills": True},
    # As some servers write JSON: not a letter of it is plain.
    "echo-key-escaped": {"says": "@@", "bills": True, "text": lambda text, key: text.replace(
        "@@", "".join(f"\\u{ord(c):04X}" for c in key))},
}


class Script:
    """The faults still to be played. A rule: {"fault": name, "times": n (None: always),
    "skip": calls let through first, "every": of the rest each n-th, "place": only the question that
    came as this one, from 0, "digest": only questions whose hash begins so, "message": words in
    place of the error's own}. Where no rule speaks, `mix` does: whether and how a call fails
    follows from the question and how often it was asked."""

    def __init__(self, rules: list[dict], mix: dict[str, float]) -> None:
        self.rules = [{"times": None, "skip": 0, "every": 1, "place": None,
                       "digest": "", "message": None, "seen": 0} | rule for rule in rules]
        self.mix = mix
        self.places: dict[str, int] = {}
        self.asked: dict[str, int] = {}
        for name in (*mix, *(rule["fault"] for rule in self.rules)):
            if name not in FAULTS:
                raise ValueError(f"no fault {name!r}")

    def next(self, question: str) -> dict | None:
        """The fault to play on this call, with its name; None where there is none."""
        name, message = self.ruled(question) or (self.mixed(question), None)
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

    def ruled(self, question: str) -> tuple[str, str | None] | None:
        place = self.places.setdefault(question, len(self.places))
        for rule in self.rules:
            if (rule["place"] not in (None, place) or rule["times"] == 0
                    or not question.startswith(rule["digest"])):
                continue
            rule["seen"] += 1
            after = rule["seen"] - rule["skip"]
            if after > 0 and after % rule["every"] == 0:
                if rule["times"] is not None:
                    rule["times"] -= 1
                return rule["fault"], rule["message"]
        return None


def echoed(status: int, authorization: str) -> dict:
    """An error that says the key aloud wherever it can."""
    reasons = [f"it says {authorization}"] if status == 403 else []
    return said(status, f"bad credentials: {authorization}",
                {"Retry-After": authorization, "Content-Type": authorization},
                metadata={"reasons": reasons, "raw": {authorization: [authorization]}})


def edited(answer: dict, fault: dict, authorization: str) -> dict:
    """The usual answer with one thing wrong, as {status, headers, raw}."""
    choice = answer["choices"][0]
    for part, name in ((choice["message"], "message"), (choice, "choice"),
                       (answer["usage"], "usage"), (answer, "top")):
        part |= fault.get(name, {})
    if says := fault.get("says", "").format(key=authorization):
        choice["message"]["content"] += f"\nYou sent {says}."
        answer |= {"provider": says, "id": says, "model": says}
    text, change = json.dumps(answer), fault.get("text", str)
    raw = change(text, authorization) if "@@" in text else change(text)
    return {"status": 200, "headers": fault.get("headers", {}), "raw": raw}
