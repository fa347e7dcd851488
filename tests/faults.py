"""What the double of the model API does wrong, on purpose: a table of faults, and who plays them.

A fault is a whole answer, an act on the connection, or one thing wrong in the usual answer.
"""

import math
from typing import Any


def error(status: int, message: str, headers: dict | None = None, **more: Any) -> dict:
    """An answer in OpenRouter's error shape."""
    return {
        "status": status,
        "headers": headers or {},
        "json": {"error": {"code": status, "message": message, **more}},
    }


def billed(**fault: Any) -> dict:
    """A fault of an answer that is paid all the same."""
    return {"bills": True} | fault


# What a fault does: a whole answer (status, headers, json or raw), an `act` on the connection, or
# keys of the usual answer that are others (see `edited`). What a body may say wrong is tested in
# test_replies.py; here is what takes a server, and what leaves a run something to resume.
FAULTS: dict[str, dict] = {
    "401": error(401, "No auth credentials found"),
    "too-long": error(
        400, "Too long", metadata={"error_type": "context_length_exceeded"}
    ),
    "402": error(402, "Insufficient credits"),
    "403-key": error(403, "Key limit exceeded"),
    "429": error(429, "Rate limit exceeded"),
    "500": error(500, "Internal Server Error"),
    "reset": {"act": "reset"},
    "reset-billed": billed(act="reset"),
    "truncated": billed(act="truncate"),
    "drip": billed(act="drip"),
    "hang": billed(act="hang"),
    "deep": {"status": 200, "raw": '{"choices":' + "[" * 100_000},
    "bad-utf8": {
        "status": 200,
        "bytes": b'{"choices": [{"message": {"content": "\xff\xfe\x80',
    },
    "bad-gzip": {
        "status": 200,
        "raw": "not packed",
        "headers": {"Content-Encoding": "gzip"},
    },
    "bad-chunk": billed(
        wire="HTTP/1.1 200 X\r\nContent-Type: application/json\r\n"
        "Transfer-Encoding: chunked\r\n\r\nmany\r\n{}\r\n"
    ),
    "no-http": {"wire": "220 mail.example ESMTP\r\n\r\n"},
    "closed": {"wire": ""},
    "moved": {"status": 302, "raw": "", "headers": {"Location": "http://127.0.0.1:1/"}},
    "null-content": billed(message={"content": None}),
    "length-empty": billed(message={"content": ""}, choice={"finish_reason": "length"}),
    "content-filter": billed(choice={"finish_reason": "content_filter"}),
    "huge": billed(
        message={"content": "All work and no play. " * 400_000}
    ),  # above 8 MiB
    "no-cost": billed(usage={"cost": None}),
    "cache-hit": {
        "headers": {"X-OpenRouter-Cache-Status": "HIT"},
        "usage": {"cost": 0},
    },
}


RULE = {
    "times": math.inf,
    "skip": 0,
    "every": 1,
    "place": None,
    "digest": "",
    "seen": 0,
}


class Script:
    """The faults still to be played. A rule: {"fault": name, "times": n (else always), "skip":
    calls let through first, "every": of the rest each n-th, "place": only the question with this
    place in the order of arrival, "digest": only questions whose hash begins so}."""

    def __init__(self, rules: list[dict]) -> None:
        self.rules = [RULE | rule for rule in rules]
        self.places: dict[str, int] = {}
        unknown = {rule["fault"] for rule in rules} - FAULTS.keys()
        if unknown:
            raise ValueError(f"no fault {unknown}")

    def next(self, question: str) -> dict | None:
        """The fault to play on this call, with its name; None where there is none."""
        place = self.places.setdefault(question, len(self.places))
        for rule in self.rules:
            if rule["place"] in (None, place) and question.startswith(rule["digest"]):
                rule["seen"] += 1
                after = rule["seen"] - rule["skip"]
                if rule["times"] and after > 0 and after % rule["every"] == 0:
                    rule["times"] -= 1
                    return {"name": rule["fault"]} | FAULTS[rule["fault"]]
        return None


def edited(answer: dict, fault: dict) -> dict:
    """The usual answer with something wrong, as {status, headers, json}."""
    [choice] = answer["choices"]
    choice["message"] |= fault.get("message", {})
    choice |= fault.get("choice", {})
    answer["usage"] |= fault.get("usage", {})
    return {"status": 200, "headers": fault.get("headers", {}), "json": answer}
