"""What must reach no file and no line: keys, however a text spells them.

A text is hidden before it is cut. What was cut elsewhere is found all the same, from PIECE
characters of a key in a row.
"""

import base64
import html
import os
import re
from collections.abc import Iterator
from functools import lru_cache

SECRET = ("KEY", "TOKEN", "SECRET", "PASSWORD")  # how a variable's name ends
SHORTEST = 8  # characters; less is hidden only in the answers that it was sent for
PIECE = 12
HIDDEN = "***"
KEYS: set[str] = set()  # that a provider has read, whatever their variables are called

# An escape of JSON, Python, addresses or HTML, however often it was escaped again.
ESCAPE = re.compile(
    r"\\+(?:u00([0-9a-f]{2})|x([0-9a-f]{2}))?|%(?:25)*([0-9a-f]{2})"
    r"|&(?:amp;)*(#?\w{1,16};)",
    re.I | re.A,
)
DEEPEST = 6  # kinds of escapes around each other
URL_SAFE = str.maketrans("+/", "-_")


def hide(text: str, key: str | None = None) -> str:
    """`text` without the key, and without any other secret that the environment names as one.

    Where there is one, the escapes around it are undone too.
    """
    plain = _unescaped(text)
    spans = [span for secret in _secrets(key) for span in _found(plain, secret)]
    if not spans:
        return text
    parts, at = [], 0
    for start, end in sorted(spans):
        if start >= at:
            parts += plain[at:start], HIDDEN
        at = max(at, end)
    return "".join([*parts, plain[at:]])


def _secrets(key: str | None) -> set[str]:
    variables = os.environ.items()
    named = {value for name, value in variables if name.upper().endswith(SECRET)}
    secrets = {value for value in named | KEYS if len(value) >= SHORTEST}
    if key:
        secrets.add(key)
    return secrets


def _found(plain: str, secret: str) -> Iterator[tuple[int, int]]:
    """Where pieces of a secret begin and end; they overlap."""
    for piece in _pieces(secret):
        start = plain.find(piece)
        while start >= 0:
            yield start, start + len(piece)
            start = plain.find(piece, start + 1)


@lru_cache(maxsize=64)
def _pieces(secret: str) -> set[str]:
    """What is looked for: PIECE characters of a secret in each of its forms, or all of it."""
    pieces = set()
    for form in _forms(secret):
        size = min(len(form), max(PIECE, PIECE * len(form) // len(secret)))
        pieces |= {form[at : at + size] for at in range(len(form) - size + 1)}
    return pieces - {""}  # of a secret of backslashes alone


def _forms(secret: str) -> list[str]:
    """A secret as `_unescaped` leaves it, and the same in hexadecimal and base64."""
    data = secret.encode()
    digits = data.hex()
    # What stands before it in a text shifts its base64 by no, one or two bytes.
    coded = [
        base64.b64encode(bytes(n) + data).decode()[
            -(-8 * n // 6) : 8 * (n + len(data)) // 6
        ]
        for n in range(3)
    ]
    safe = [code.translate(URL_SAFE) for code in coded]
    return [_unescaped(secret), digits, digits.upper(), *coded, *safe]


def _unescaped(text: str) -> str:
    """`text` with nothing escaped, and without backslashes."""
    for _ in range(DEEPEST):
        plain = ESCAPE.sub(_meaning, text)
        if plain == text:
            break
        text = plain
    return text


def _meaning(escape: re.Match) -> str:
    *digits, entity = escape.groups()
    if entity:
        return html.unescape(f"&{entity}")
    for code in filter(None, digits):
        return chr(int(code, 16))
    return ""
