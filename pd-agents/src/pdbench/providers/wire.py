"""One call to a model's server over HTTP: one deadline, one size, nothing followed.

The deadline covers everything: looking up the name, connecting, every byte in both directions,
retries and the waits between them. A body above MOST_BYTES is not read on. Nothing is
decompressed (none is asked for), and no redirect is followed: the key goes where it was meant to.
"""

import json
import socket
import ssl
import threading
import time
from collections.abc import Callable
from functools import cache
from typing import NamedTuple
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

import certifi
import httpcore

from pdbench import __version__

MOST_BYTES = (
    2_000_000  # heads included; a model that reasons at length stays below a tenth
)
PAUSE_S = 0.5  # before the first retry; doubled before each further one
BLOCK = 16_384  # bytes between two looks at the clock, in either direction
QUOTED = 200  # characters of a server's own words in a message
TRANSIENT = {408, 409, 425, 429}  # and everything from 500 on


class Trouble(Exception):
    """Why there is no answer; `words`: the server's, whole, since a key may stand in them."""

    def __init__(self, why: str, words: str = "") -> None:
        super().__init__(why)
        self.words = words


class Passing(Trouble):
    """A trouble that may be over in a moment; `after`: seconds that the server asked to wait."""

    def __init__(self, why: str, words: str = "", after: float = 0.0) -> None:
        super().__init__(why, words)
        self.after = after


class Post(NamedTuple):
    """What is sent, to where, and how long all of it may take."""

    url: str
    headers: dict[str, str]
    body: bytes
    seconds: float
    retries: int


class _Call(threading.local):
    """The call that this thread is in: when it has to end, and what it has read."""

    end = float("inf")
    taken = 0

    def left(self) -> float:
        """Seconds to the deadline; httpcore's own error where there are none."""
        seconds = self.end - time.monotonic()
        if seconds <= 0:
            raise httpcore.TimeoutException
        return seconds

    def count(self, data: bytes) -> bytes:
        """`data`, unless it is more than a call may read."""
        self.taken += len(data)
        if self.taken > MOST_BYTES:
            raise Trouble(
                f"its answer is longer than {MOST_BYTES // 1_000_000} MB and was not"
                " read on"
            )
        return data


_call = _Call()


class _Stream(httpcore.NetworkStream):
    """A connection of which every single wait ends with the call."""

    def __init__(self, stream: httpcore.NetworkStream) -> None:
        self._stream = stream

    def read(self, max_bytes, timeout=None):
        return _call.count(self._stream.read(min(max_bytes, BLOCK), _call.left()))

    def write(self, buffer, timeout=None):
        for at in range(0, len(buffer), BLOCK):
            self._stream.write(buffer[at : at + BLOCK], _call.left())

    def close(self):
        self._stream.close()

    def start_tls(self, ssl_context, server_hostname=None, timeout=None):
        return _Stream(
            self._stream.start_tls(ssl_context, server_hostname, _call.left())
        )

    def get_extra_info(self, info):
        return self._stream.get_extra_info(info)


class _Backend(httpcore.NetworkBackend):
    """Connects within the call, however many addresses a name has."""

    def connect_tcp(
        self, host, port, timeout=None, local_address=None, socket_options=None
    ):
        addresses = within(_call.left(), lambda: _addresses(host, port))
        for tries_left in range(len(addresses), 0, -1):
            try:
                return _Stream(
                    httpcore.SyncBackend().connect_tcp(
                        addresses[-tries_left],
                        port,
                        _call.left() / tries_left,
                        local_address,
                        socket_options,
                    )
                )
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                if tries_left == 1:
                    raise
        raise Passing("the name of its server leads to no address")


def _addresses(host: str, port: int) -> list[str]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise Passing("the name of its server is not known") from None
    return list(dict.fromkeys(entry[4][0] for entry in found))


def within[T](seconds: float, work: Callable[[], T]) -> T:
    """What `work` returns, if it does so in time: for what has no deadline of its own.

    TimeoutError where it doesn't; the thread is left behind and dies with the process.
    """
    result: list[T] = []
    trouble: list[BaseException] = []

    def run() -> None:
        try:
            result.append(work())
        except BaseException as error:
            trouble.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if trouble:
        raise trouble[0]
    if not result:
        raise TimeoutError
    return result[0]


def late(seconds: float) -> Trouble:
    """The trouble of a call that has come to its deadline."""
    return Trouble(f"gave no whole answer within {seconds:g} s (provider.timeout_s)")


def exchange(post: Post) -> bytes:
    """The body of the server's answer 200; Trouble where there is none by the deadline."""
    _call.end = time.monotonic() + post.seconds
    pause = PAUSE_S
    for retries_left in range(post.retries, -1, -1):
        try:
            return _once(post)
        except Passing as trouble:
            wait = max(pause, trouble.after)
            if not retries_left or wait >= _call.end - time.monotonic():
                raise
            time.sleep(wait)
            pause *= 2
    raise AssertionError  # the last round returns or raises


def _once(post: Post) -> bytes:
    _call.taken = 0
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json",
        "Accept-Encoding": "identity",
        "User-Agent": f"pdbench/{__version__}",
    }
    try:
        with _pool(_proxy(post.url)).stream(
            "POST", post.url, headers=headers | post.headers, content=post.body
        ) as response:
            body = b"".join(response.iter_stream())
            return _body(response.status, dict(response.headers), body)
    except (httpcore.TimeoutException, TimeoutError):
        raise late(post.seconds) from None
    except httpcore.ProxyError:
        raise Passing(
            "the proxy that the environment names refused the connection"
        ) from None
    except httpcore.ConnectError as error:
        raise _no_connection(error) from None
    except (httpcore.NetworkError, httpcore.RemoteProtocolError):
        raise Passing(
            "the connection broke off, or what came over it is no HTTP"
        ) from None
    except (httpcore.UnsupportedProtocol, httpcore.LocalProtocolError, UnicodeError):
        raise Trouble("the address or the key holds what can't be sent") from None


def _no_connection(error: BaseException) -> Trouble:
    """Why no connection was made: httpcore's error tells by what it was caused."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return Trouble(f"its certificate is not accepted ({cause.verify_message})")
        if isinstance(cause, ssl.SSLError):
            return Trouble("what answers there does not speak TLS (https)")
        if isinstance(cause, ConnectionRefusedError):
            return Passing("nothing listens there: the connection was refused")
        cause = cause.__cause__ or cause.__context__
    return Passing("it can't be reached")


def _body(status: int, headers: dict[bytes, bytes], body: bytes) -> bytes:
    fields = {name.lower(): value.decode("latin-1") for name, value in headers.items()}
    if 300 <= status < 400:
        raise Trouble(
            f"answered {status}, a redirect, which is not followed; put the right"
            " address into provider.base_url",
            fields.get(b"location", "nowhere"),
        )
    if status != 200:
        why, words = f"answered {status}", _words(body)
        if status in TRANSIENT or status >= 500:
            raise Passing(why, words, _seconds(fields.get(b"retry-after", "")))
        raise Trouble(why, words)
    if fields.get(b"content-encoding", "identity") != "identity":
        raise Trouble("answered in a compressed form that was not asked for")
    return body


def _words(body: bytes) -> str:
    """What the server says about its refusal."""
    try:
        data = json.loads(body)
        error = data.get("error", data) if isinstance(data, dict) else data
        words = error.get("message", error) if isinstance(error, dict) else error
    except (ValueError, RecursionError):
        words = body.decode("utf-8", "replace")
    return "" if words is None else str(words)


def shortened(words: str) -> str:
    """A server's words for a line of text: printable, QUOTED characters at most, "" for none."""
    plain = "".join(x if x.isprintable() else " " for x in words[: 10 * QUOTED])
    plain = " ".join(plain.split())
    if not plain.strip("{}[] "):
        return ""
    return plain if len(plain) <= QUOTED else plain[: QUOTED - 3] + "..."


def _seconds(text: str) -> float:
    """`Retry-After` in seconds; its other form, a date, counts as none."""
    return float(text) if text.isdecimal() and len(text) < 9 else 0.0


def _proxy(url: str) -> str | None:
    parts = urlsplit(url)
    if not parts.hostname or proxy_bypass(parts.netloc):
        return None
    return getproxies().get(parts.scheme)


@cache
def _pool(proxy: str | None) -> httpcore.ConnectionPool:
    trusted = ssl.create_default_context()
    trusted.load_verify_locations(certifi.where())
    settings = {
        "ssl_context": trusted,
        "max_connections": None,
        "keepalive_expiry": 5.0,
        "network_backend": _Backend(),
    }
    if proxy is None:
        return httpcore.ConnectionPool(**settings)
    if not proxy.startswith(("http://", "https://")):
        raise Trouble(
            "the environment names a proxy that is neither http:// nor https://"
        )
    parts = urlsplit(proxy)
    account = (
        (unquote(parts.username), unquote(parts.password or ""))
        if parts.username
        else None
    )
    return httpcore.HTTPProxy(
        f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}",
        proxy_auth=account,
        **settings,
    )
