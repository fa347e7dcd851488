"""A key is taken out of a server's words in every spelling, and before the words are cut."""

import base64
import html
import json
from urllib.parse import quote

import pytest

from conftest import pair
from hostile import Hostile, http, once, serving
from pdbench.config.schema import Provider
from pdbench.core.secrets import hide
from pdbench.core.types import ProviderError
from pdbench.providers.base import ask

KEY = 'sk-or/v1+"Ab9\\_cd.Ef=ghijklmnopqrstuvwxyz'


def every_byte(text):
    return "".join(f"%{byte:02x}" for byte in text.encode())


def based(text, before=b""):
    return base64.b64encode(before + text.encode()).decode()


SPELLINGS = {
    "verbatim": KEY,
    "JSON": json.dumps(KEY)[1:-1],
    "JSON in JSON": json.dumps(json.dumps(KEY))[1:-1],
    "JSON with slashes escaped": json.dumps(KEY)[1:-1].replace("/", "\\/"),
    "JSON, every letter escaped": "".join(f"\\u{ord(x):04x}" for x in KEY),
    "JSON, capital escapes": "".join(f"\\u{ord(x):04X}" for x in KEY),
    "percent": quote(KEY, safe=""),
    "percent, slashes kept": quote(KEY),
    "percent twice": quote(quote(KEY, safe=""), safe=""),
    "percent thrice": quote(quote(quote(KEY, safe=""), safe=""), safe=""),
    "percent, every byte": every_byte(KEY),
    "percent, every byte, capitals": every_byte(KEY).upper().replace("%", "%"),
    "percent of JSON": quote(json.dumps(KEY)[1:-1], safe=""),
    "HTML": KEY.replace('"', "&quot;").replace("+", "&#43;"),
    "HTML, numbers": "".join(f"&#{ord(x)};" for x in KEY),
    "HTML, hexadecimal": "".join(f"&#x{ord(x):X};" for x in KEY),
    "Python's bytes": "".join(f"\\x{ord(x):02x}" for x in KEY),
    "base64": based(KEY),
    "base64, one before": based(KEY, b":"),
    "base64, two before": based(KEY, b"me"),
    "base64 of a header": based(KEY, b"Authorization: Bearer "),
    "base64, for addresses": based(KEY).replace("+", "-").replace("/", "_").rstrip("="),
    "base64, percent": quote(based(KEY), safe=""),
    "HTML twice": html.escape(html.escape(KEY)),
    "HTML as Go writes JSON": html.escape(KEY).replace("&", "\\u0026"),
    "hexadecimal": KEY.encode().hex(),
    "hexadecimal, capitals": KEY.encode().hex().upper(),
}
# A text may be cut before it comes here. What is left of the key in it, spelled as above.
PIECES = {
    "verbatim": str,
    "JSON": lambda piece: json.dumps(piece)[1:-1],
    "JSON, every letter": lambda piece: "".join(f"\\u{ord(x):04x}" for x in piece),
    "percent": lambda piece: quote(piece, safe=""),
    "percent twice": lambda piece: quote(quote(piece, safe=""), safe=""),
    "HTML": html.escape,
    "hexadecimal": lambda piece: piece.encode().hex(),
    "base64": based,
    "base64, one before": lambda piece: based(piece, b":"),
    "base64, two before": lambda piece: based(piece, b"me"),
}


def leaks(text):
    """The longest run of letters of the key, or of its base64, that a text still holds."""
    forms = [KEY, *(based(KEY, b"x" * n).strip("=") for n in range(3))]
    return max(
        (
            j - i
            for form in forms
            for i in range(len(form))
            for j in range(i + 1, len(form))
            if form[i:j] in text
        ),
        default=0,
    )


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize(
    "place", ["{}", "Bearer {}.", "{}{}", "x" * 197 + "{}", "\n{}\t"]
)
def test_it_is_hidden_wherever_it_stands(spelling, place):
    text = place.replace("{}", SPELLINGS[spelling])
    assert "***" in hide(text, KEY)
    assert leaks(hide(text, KEY)) < 6


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize(
    ("status", "before"),
    [("401 No", 190), ("401 No", 1990), ("200 OK", 170), ("302 Elsewhere", 185)],
)
def test_it_is_hidden_before_a_server_s_words_are_cut(
    monkeypatch, spelling, status, before
):
    monkeypatch.setenv("TEST_KEY", KEY)
    words = "w" * before + SPELLINGS[spelling]
    heads = ["Location: http://x/" + words] if status.startswith("302") else []
    body = json.dumps({"error": {"message": words}}).encode()
    with serving(Hostile(once(http(body, status, *heads))).sends) as url:
        provider = Provider(
            name="openai",
            model="m",
            base_url=url,
            api_key_env="TEST_KEY",
            timeout_s=5.0,
            connection_retries=0,
        )
        with pytest.raises(ProviderError) as said:
            ask(provider, url, {}, {}, str)
    assert leaks(str(said.value)) < 6
    assert len(str(said.value)) < 600


def test_other_texts_stay_as_they_are():
    text = "a key is no sk-or, nor is sk-or/v1 alone; 100%25 \\u0041 &#65;"
    assert hide(text, KEY) == text


@pytest.mark.parametrize("spelling", PIECES)
@pytest.mark.parametrize("cut", [slice(0, 15), slice(15, None), slice(10, 25)])
def test_a_piece_of_it_is_hidden_too(spelling, cut):
    left = hide(PIECES[spelling](KEY[cut]), KEY)
    assert "***" in left
    assert len(left.rstrip("=")) <= len("***") + 4  # base64 of what stands beside it


def test_it_is_in_no_traceback(experiment, pdbench, monkeypatch):
    """An unexpected fault is told with what was sent, whatever its variable is called."""

    def fault(post):
        raise RuntimeError(f"{post.headers} {KEY.encode().hex()}")

    monkeypatch.setenv("MY_ACCOUNT", KEY)
    monkeypatch.setattr("pdbench.providers.base.exchange", fault)
    provider = {"name": "openai", "model": "m", "api_key_env": "MY_ACCOUNT"}
    path = experiment([pair("x", {"provider": provider}, "TFT")])
    for flags in ([], ["--json"]):
        code, out, err = pdbench("run", path, *flags)
        assert code == 1
        assert "RuntimeError: {'Authorization': 'Bearer ***'} ***" in err
        assert leaks(out + err) < 6


@pytest.mark.parametrize("text", ["\\", "%25", "s&amp;", "&#0", "%", "&"])
def test_a_server_can_not_make_it_search_for_long(text):
    """What grew with the square of the length took hours here."""
    assert hide(text * 100_000, KEY) == text * 100_000
