"""A server on 127.0.0.1 that answers as no server should, byte by byte as it likes.

`ANSWERS` is the table: a name, what is sent down the socket after a request, and what a model's
adapter makes of it: `text` is the answer that it reads, `line` a part of the one line it says.
"""

import gzip
import json
import socket
import struct
import time
from collections.abc import Callable, Iterable
from contextlib import contextmanager, suppress
from threading import Event, Thread
from typing import NamedTuple

KEY = "k-123-very-secret"
MB = 1_000_000


class Hostile(NamedTuple):
    """`sends` gives blocks of bytes; a float in between is a pause in seconds."""

    sends: Callable[[], Iterable[bytes | float]]
    line: str = ""
    text: str | None = None


def http(body: bytes, status: str = "200 OK", *heads: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", *heads]
    if not any(
        head.lower().startswith(("content-length", "transfer-encoding"))
        for head in heads
    ):
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


def completion(content: object, **more) -> bytes:
    message = {"role": "assistant", "content": content} | more
    return json.dumps({"choices": [{"index": 0, "message": message}]}).encode()


def once(data: bytes) -> Callable[[], Iterable[bytes | float]]:
    return lambda: [data]


def forever(block: bytes, pause: float = 0.0, first: bytes = b"") -> Callable:
    def sends():
        yield first
        while True:
            yield block
            if pause:
                yield pause

    return sends


def answers(body: bytes, text: str, *heads: str) -> Hostile:
    return Hostile(once(http(body, "200 OK", *heads)), text=text)


def refused(body: bytes, line: str) -> Hostile:
    return Hostile(once(http(body)), line)


def status(code: str, line: str, *heads: str, body: bytes = b"") -> Hostile:
    return Hostile(once(http(body, code, *heads)), line)


LATE = "gave no whole answer within"
BROKEN = "broke off"
LONG = "longer than 2 MB"
NOT_JSON = "not JSON"
OPEN = "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
GOOD = completion("C")

NAMED = {
    "1 byte every half second": Hostile(forever(b"x", 0.5, OPEN.format(9999).encode()), LATE),
    "2.2 GB": Hostile(lambda: [OPEN.format(2200 * MB).encode(), *[b"x" * MB] * 2200], LONG),
    "empty 200": refused(b"", "empty body"),
    "truncated JSON": refused(GOOD[:30], NOT_JSON),
    "choices: [null]": refused(b'{"choices": [null]}', "nothing in choices[0]"),
    "a list of parts": answers(completion([{"type": "text", "text": "C"}]), "C"),
    "a text as message": refused(b'{"choices": [{"message": "C"}]}', "a text in choices[0].mess"),
    "invalid UTF-8": refused(GOOD[:-3] + b"\xff\xfe" + GOOD[-3:], "not UTF-8"),
    "deep JSON": refused(b'{"choices":' + b"[" * 100_000, "nested too deeply"),
    "an integer of 10,000 digits": answers(GOOD[:-1] + b', "n": ' + b"9" * 10_000 + b"}", "C"),
    "redirect 302": status("302 Found", "not followed", "Location: http://127.0.0.1:1/v1"),
    "the key in the answer": answers(completion(f"C {KEY}"), "C ***"),
}  # fmt: skip

STATUSES = {
    **{f"redirect {code}": status(f"{code} There", "not followed", "Location: /v1/x")
       for code in (301, 303, 307, 308)},
    "redirect to nowhere": status("302 Found", "a redirect, which is not followed"),
    "redirect with a key": status("302 Found", "***", f"Location: http://evil/?k={KEY}"),
    "204": Hostile(once(b"HTTP/1.1 204 No Content\r\n\r\n"), "answered 204"),
    "201": status("201 Created", "answered 201", body=GOOD),
    "a flood of 100s": Hostile(forever(b"HTTP/1.1 100 Continue\r\n\r\n" * 999), LONG),
    "101": Hostile(once(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\nC"), ""),
    "401 with the key": status("401 No", "bad key ***", body=json.dumps(
        {"error": {"message": f"bad key {KEY}"}}).encode()),
    "402 as a page": status("402 Pay", "answered 402: <html>", body=b"<html><b>pay\x1b[31m"),
    "403 without end": Hostile(forever(b"x" * MB, first=b"HTTP/1.1 403 No\r\n\r\n"), LONG),
    "404": status("404 Not Found", "answered 404"),
    "418 deep": status("418 Tea", "answered 418", body=b"[" * 100_000),
    "429, come back tomorrow": status("429 Slow", "answered 429", "Retry-After: 86400"),
    "429, never": status("429 Slow", "answered 429", "Retry-After: -1"),
    "429, in words": status("429 Slow", "answered 429", "Retry-After: soon"),
    "429, a number of 10,000 digits": status("429 Slow", "answered 429",
                                             "Retry-After: " + "9" * 10_000),
    "500": status("500 Oh", "answered 500;", body=b"null"),
    "503 slowly": Hostile(forever(b"x", 0.3, b"HTTP/1.1 503 Busy\r\nContent-Length: 99\r\n\r\n"),
                          LATE),
    "999": status("999 Odd", "answered 999"),
}  # fmt: skip

FRAMES = {
    "closed at once": Hostile(list, BROKEN),
    "closed after the status": Hostile(once(b"HTTP/1.1 200 OK\r\n"), BROKEN),
    "reset": Hostile(lambda: [RESET], BROKEN),
    "reset in the body": Hostile(lambda: [OPEN.format(99).encode() + b"{", 0.1, RESET], BROKEN),
    "silence": Hostile(lambda: [60.0], LATE),
    "silence after the head": Hostile(lambda: [OPEN.format(9).encode(), 60.0], LATE),
    "a slow head": Hostile(forever(b"x", 0.2, b"HTTP/1.1 200 OK\r\nX: "), LATE),
    "a slow status": Hostile(lambda: [b"H", 0.4, b"T", 0.4, b"T", 60.0], LATE),
    "a head without end": Hostile(forever(b"x" * 4096, first=b"HTTP/1.1 200 OK\r\nX: "), BROKEN),
    "10,000 heads": Hostile(once(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 100_000 + b"\r\n"), BROKEN),
    "a head without a colon": Hostile(once(b"HTTP/1.1 200 OK\r\nnonsense\r\n\r\n"), BROKEN),
    "NUL in a head": Hostile(once(b"HTTP/1.1 200 OK\r\nX: \x00\r\n\r\n"), BROKEN),
    "a negative length": status("200 OK", BROKEN, "Content-Length: -5", body=GOOD),
    "two lengths": status("200 OK", BROKEN, "Content-Length: 5", "Content-Length: 6", body=GOOD),
    "a length in words": status("200 OK", BROKEN, "Content-Length: many", body=GOOD),
    "shorter than it says": status("200 OK", BROKEN, "Content-Length: 999", body=GOOD),
    "longer than it says": status("200 OK", NOT_JSON, "Content-Length: 9", body=GOOD),
    "no length": Hostile(once(b"HTTP/1.1 200 OK\r\n\r\n" + GOOD), text="C"),
    "a bad chunk": Hostile(once(CHUNKED + b"zz\r\n"), BROKEN),
    "a chunk of 281 TB": Hostile(forever(b"x" * MB, first=CHUNKED + b"FFFFFFFFFFFF\r\n"), LONG),
    "slow chunks": Hostile(forever(b"1\r\nx\r\n", 0.2, CHUNKED), LATE),
    "a chunk's endless extension": Hostile(forever(b"x" * 4096, first=CHUNKED + b"1;"), BROKEN),
    "endless trailers": Hostile(forever(b"X: y\r\n" * 999, first=CHUNKED + b"0\r\n"), BROKEN),
    "HTTP 0.9": Hostile(once(GOOD), BROKEN),
    "HTTP/2": Hostile(once(b"\x00\x00\x12\x04\x00\x00\x00\x00\x00" + b"\x00" * 18), BROKEN),
    "TLS": Hostile(once(b"\x15\x03\x01\x00\x02\x02\x28"), BROKEN),
    "SSH": Hostile(once(b"SSH-2.0-OpenSSH_9.2\r\n"), BROKEN),
    "two answers": Hostile(once(http(GOOD) + http(completion("D"))), text="C"),
    "events": status("200 OK", NOT_JSON, "Content-Type: text/event-stream",
                     body=b"data: " + GOOD + b"\n\ndata: [DONE]\n\n"),
    "a gzip bomb": status("200 OK", "compressed", "Content-Encoding: gzip",
                          body=gzip.compress(b" " * 50 * MB)),
    "called gzip": status("200 OK", "compressed", "Content-Encoding: gzip", body=GOOD),
    "called HTML": answers(GOOD, "C", "Content-Type: text/html"),
}  # fmt: skip

BODIES = {
    "UTF-16": refused(GOOD.decode().encode("utf-16"), "not UTF-8"),
    "a byte order mark": refused(b"\xef\xbb\xbf" + GOOD, NOT_JSON),
    "null": refused(b"null", "nothing where a JSON object belongs"),
    "a list": refused(b"[]", "a list where"),
    "a text": refused(b'"C"', "a text where"),
    "a number": refused(b"3", "a number where"),
    "true": refused(b"true", "a yes or no where"),
    "NaN": refused(b"NaN", "a number where"),
    "an error in a 200": refused(b'{"error": {"message": "no\\ncredit"}}', "error: no credit"),
    "an error as text": refused(b'{"error": "no credit"}', "error: no credit"),
    "an error with the key": refused(json.dumps({"error": KEY}).encode(), "error: ***"),
    "no choices": refused(b"{}", "nothing in choices"),
    "choices: []": refused(b'{"choices": []}', "nothing in choices[0]"),
    "choices: {}": refused(b'{"choices": {}}', "an object in choices"),
    "choices of texts": refused(b'{"choices": ["C"]}', "a text in choices[0]"),
    "message: null": refused(b'{"choices": [{"message": null}]}', "nothing in choices[0].message"),
    "content: 3": refused(completion(3), "a number in choices[0].message.content"),
    "content: true": refused(completion(True), "a yes or no in choices[0].message.content"),
    "content: {}": refused(completion({}), "an object in choices[0].message.content"),
    "parts: [null]": refused(completion([None]), "nothing in choices[0].message.content[0]"),
    "parts of texts": refused(completion(["C"]), "a text in choices[0].message.content[0]"),
    "a part without text": refused(completion([{"type": "text"}]), "nothing in"),
    "parts of other kinds": answers(completion([{"type": "image_url"}, {"text": "D"}]), "D"),
    "no content": answers(completion(None), ""),
    "a refusal": answers(completion(None, refusal="I can't."), "I can't."),
    "a refusal that is a list": refused(completion(None, refusal=["x"]), ""),
    "half a surrogate pair": answers(completion("\ud800"), "\ud800"),
    "NUL and escapes": answers(completion("\x00\x1b[31mC"), "\x00\x1b[31mC"),
    "1.9 MB of text": answers(completion("C" * 1_900_000), "C" * 1_900_000),
    "1.9 MB of lists": refused(b'{"choices": [' + b"[]," * 600_000 + b"[]]}", "a list in choices"),
    "1.9 MB of objects": refused(b'{"choices": [{},' + b'{"a":{}},' * 200_000 + b"{}]}",
                                 "nothing in choices[0].message"),
    "a key twice": answers(b'{"choices": [],' + GOOD[1:], "C"),
    "1e999": answers(GOOD[:-1] + b', "n": 1e999, "m": -1e-999}', "C"),
    "the key twice": answers(completion(KEY * 2), "******"),
}  # fmt: skip

RESET = b"RESET"
OWN = STATUSES | FRAMES | BODIES
ANSWERS = NAMED | OWN


def _play(
    connection: socket.socket, sends: Iterable[bytes | float], stop: Event
) -> None:
    with connection, suppress(OSError):
        _read_request(connection)
        for item in sends:
            if stop.is_set():
                return
            if isinstance(item, float):
                stop.wait(item)
            elif item == RESET:
                connection.setsockopt(
                    socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
                )
                return
            else:
                connection.sendall(item)
        connection.shutdown(socket.SHUT_WR)
        stop.wait(0.05)


def _read_request(connection: socket.socket) -> None:
    data = b""
    while b"\r\n\r\n" not in data:
        block = connection.recv(65536)
        if not block or block[:1] == b"\x16":  # somebody begins to speak TLS
            return
        data += block
    head, _, body = data.partition(b"\r\n\r\n")
    length = next(
        int(line.split(b":")[1])
        for line in head.lower().split(b"\r\n")
        if line.startswith(b"content-length")
    )
    while len(body) < length:
        body += connection.recv(65536)


@contextmanager
def serving(sends: Callable[[], Iterable[bytes | float]]):
    """The address of a server that answers every request with `sends`."""
    stop = Event()
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.05)

        def accept() -> None:
            while not stop.is_set():
                with suppress(OSError):
                    connection, _ = server.accept()
                    connection.settimeout(30)
                    Thread(
                        target=_play, args=(connection, sends(), stop), daemon=True
                    ).start()

        thread = Thread(target=accept, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.getsockname()[1]}"
        finally:
            stop.set()
            thread.join()


def wait_for(condition: Callable[[], bool], seconds: float = 300.0) -> None:
    """Return as soon as it holds: how long that takes is the machine's affair."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came about"
        time.sleep(0.01)
