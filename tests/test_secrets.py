"""The key reaches no file and no line, however a server spells it and wherever it says it."""

import base64
import gzip
import html
import json
import math
from functools import reduce
from urllib.parse import quote

import pytest
from conftest import PRICE
from faults import error
from requests.adapters import HTTPAdapter

from common.server import Server, redacted

# Every character is one a key may have; six in a row are never six of a hash in the journal.
KEY = "sk/or\\v1+\"Zq7&<4f0c>%2c'=e9d7Xb4b1aYa7e35Zc1f"
PLAIN = "sk-or-v1-4f0cX2c5eY9d7bZ4b1aQa7e3W5c1fV6d28kQ7Z"


def again(spell, times):
    return lambda text: reduce(lambda spelled, _: spell(spelled), range(times), text)


def escaped(text):
    return json.dumps(text)[1:-1]


def percent(text):
    return quote(text, safe="")


def every(form):
    return lambda text: "".join(form.format(ord(c)) for c in text)


def based(before=b"", table=""):
    """In base64; `table`: two characters in place of + and /."""
    return lambda text: base64.b64encode(
        before + text.encode(), table.encode() or None
    ).decode()


SPELLINGS = {
    "as it is": str,
    "twice": lambda key: key + key,
    **{f"JSON, {n} deep": again(escaped, n) for n in range(1, 5)},
    **{f"percent, {n} times": again(percent, n) for n in range(1, 4)},
    "slashes escaped": lambda key: escaped(key).replace("/", "\\/"),
    "every letter in JSON": every("\\u{:04x}"),
    "in capitals": every("\\u{:04X}"),
    "every letter in JSON, deeper": lambda key: escaped(every("\\u{:04x}")(key)),
    "every letter in Python": every("\\x{:02x}"),
    "every byte in percent": every("%{:02x}"),
    "every byte in capitals": every("%{:02X}"),
    "HTML": html.escape,
    "HTML twice": again(html.escape, 2),
    "HTML in numbers": every("&#{};"),
    "HTML in hexadecimal": every("&#x{:x};"),
    "HTML as Go writes JSON": lambda key: html.escape(key).replace("&", "\\u0026"),
    "base64": based(),
    "base64, one before": based(b":"),
    "base64, two before": based(b"me"),
    "base64, for addresses": based(table="-_"),
    "hexadecimal": lambda key: key.encode().hex(),
}
# What no key holds, between its characters: between all of them, or in one place.
BETWEEN = {
    repr(sep): sep
    for sep in ("\u200b", "\n", "\\u200b", "\\r\\n", "%E2%80%8B", "&shy;")
}
SPLIT = {
    f"split with {name}": lambda key, sep=sep: sep.join(key)
    for name, sep in BETWEEN.items()
}
SPLIT |= {
    f"broken with {name}": lambda key, sep=sep: sep.join((key[:9], key[9:]))
    for name, sep in BETWEEN.items()
}
SPELLINGS |= SPLIT


def left_of(spelled, text, key=KEY):
    """Of the key or of a spelling of it, whether six letters in a row can be read in a text."""
    found = []
    for form, size in ((key, 6), (spelled, 6 * math.ceil(len(spelled) / len(key)))):
        pieces = [form[at : at + size] for at in range(len(form) - size + 1)]
        found += [piece for piece in pieces if piece in text]
    return found


# Where a server says it, as an answer of the double.
def in_an_answer(text):
    message = {"content": text, "reasoning": text}
    choice = {"finish_reason": "stop", "message": message}
    names = {"id": text, "model": text, "provider": text}
    body = {"usage": {"cost": 0.001}, "choices": [choice], **names}
    return {"status": 200, "json": body}


def in_an_error(text):
    return error(401, text, metadata={"raw": text, "remedy_hint": text})


def in_a_header(text):
    return error(429, "slow", {"Retry-After": text, "X-Generation-Id": text})


def in_the_status_line(text):
    return {"wire": f"HTTP/1.1 {text}\r\n\r\n"}


PLACES = (in_an_answer, in_an_error, in_a_header, in_the_status_line)
WRITTEN = ("as it is", "JSON, 2 deep", "percent, 2 times", "base64", "in capitals")


@pytest.mark.parametrize("before", [0, 180, 280])  # so that a cut falls into it
@pytest.mark.parametrize("place", PLACES)
def test_it_reaches_no_file_and_no_message(bench, double, tmp_path, place, before):
    for name in WRITTEN:
        spelled = SPELLINGS[name](KEY)
        double.script(catalogue=False, answer=place("w" * before + spelled))
        run = bench("a", provider=Server(double.url, KEY, 1, 5.0, {"m": PRICE}))
        journal = run.path.read_text()
        texts = [journal, str(run.ending.results), str(run.ending.stop)]
        texts.append(str(run.asker.gate.aside))
        for line in map(json.loads, journal.splitlines()):
            texts.append(str(line.get("response")))
            texts.append(line.get("response", {}).get("body", ""))
        for text in texts:
            assert not left_of(spelled, text), name
        run.path.unlink()


@pytest.mark.parametrize("name", SPELLINGS)
def test_no_spelling_of_it_stays_and_what_stands_beside_it_does(name):
    for key in (PLAIN,) if name in SPLIT else (KEY, PLAIN):
        spelled = SPELLINGS[name](key)
        text = redacted(f'{{"a": "x {spelled}", "b": "y\\n"}}', key)
        assert "[key]" in text and not left_of(spelled, text, key)
        assert text.endswith('", "b": "y\\n"}')


def test_text_without_the_key_stays_as_it_is_and_is_read_in_linear_time():
    for text in (
        "\\" * 200_000,
        "s" + "\\" * 200_000,
        "%25" * 60_000,
        "s&amp;" * 30_000,
        "s%" + "25" * 60_000,
        "&#" + "0" * 100_000,
    ):
        assert redacted(text, KEY) == redacted(text, PLAIN) == text
    assert redacted("an EMPTY key", "EMPTY") == "an EMPTY key"


@pytest.mark.parametrize("length", [12, 17, len(PLAIN) - 1])
@pytest.mark.parametrize("name", ["as it is", "every byte in percent", "hexadecimal"])
def test_twelve_characters_in_a_row_are_hidden_wherever_they_are_in_the_key(
    length, name
):
    for at in range(len(PLAIN) - length + 1):
        piece = SPELLINGS[name](PLAIN[at : at + length])
        assert redacted(f"masked as <{piece}>.", PLAIN) == "masked as <[key]>."
    for at in range(len(PLAIN) - 10):
        shorter = f"masked as <{PLAIN[at : at + 11]}>."
        assert redacted(shorter, PLAIN) == shorter


def test_a_key_too_short_to_have_pieces_is_hidden_whole_only():
    for name in ("as it is", "JSON, 2 deep", "HTML"):
        spelled = SPELLINGS[name]('sk/"x"7&9')
        assert redacted(f"it is {spelled} here", 'sk/"x"7&9') == "it is [key] here"
    assert redacted("it is olla ma here", "ollama") == "it is olla ma here"


STUDY = ("run_pilot.py", "--models", "double/a", "--runs", "10", "--out", "o")


def readable(folder, *streams, key=KEY):
    """Whether the key can be read: in files below `folder`, in their names, in what was printed."""
    contents = [text.encode() for text in streams]
    for path in folder.rglob("*"):
        contents.append(str(path).encode())
        if path.is_file():
            contents.append(path.read_bytes())
        if path.suffix == ".gz":
            contents.append(gzip.decompress(path.read_bytes()))
    words = [key[at : at + 12] for at in range(len(key) - 11)]
    words += [spell(key) for spell in (escaped, percent, based(), every("\\u{:04x}"))]
    everything = b"\0".join(contents)
    return [word for word in words if word.encode() in everything]


@pytest.mark.parametrize("script", ["run_pilot.py", "run_tournament.py", "urrp_run.py"])
def test_an_unexpected_error_says_where_it_is_and_not_the_key(
    cli, double, tmp_path, monkeypatch, script
):
    def send(self, request, **more):
        raise RuntimeError(f"can't send {dict(request.headers)}; {request.headers}")

    monkeypatch.setattr(HTTPAdapter, "send", send)
    done = cli(script, "--base-url", double.url, "--models", "double/a", key=KEY)
    assert done.returncode == 1 and "Traceback" in done.stderr
    assert "can't send" in done.stderr and "[key]" in done.stderr
    assert not readable(tmp_path, done.stdout, done.stderr)


@pytest.mark.parametrize(
    "flag",
    [
        "--models",
        "--config",
        "--run-id",
        "--base-url",
        "--prompts",
        {"KEY": 1},
        {"effort": "KEY"},
    ],
)
def test_a_key_given_in_a_wrong_place_is_not_printed(cli, tmp_path, flag):
    for before in range(0, 60, 12):
        word, path = "w" * before + PLAIN, tmp_path / "c.json"
        path.write_text(json.dumps(flag).replace("KEY", word))
        flags = (flag, word) if isinstance(flag, str) else ("--config", path.name)
        done = cli(*STUDY, *flags, "--dry-run", key=PLAIN)
        path.unlink()
        assert done.returncode in (0, 2) and "Traceback" not in done.stderr
        assert not readable(tmp_path, done.stdout, done.stderr, key=PLAIN), flag


# --- in an address -----------------------------------------------------------------------------

SECRET = "hunter2Zq7Xb4b1aYa7e35Zc"


@pytest.mark.parametrize(
    ("script", "small"),
    [
        ("run_pilot.py", ("--runs", 1)),
        ("run_tournament.py", ("--agents", 2, "--rounds", 1)),
        ("urrp_run.py", ()),
    ],
)
def test_a_key_in_the_path_of_the_address_is_used_and_shown_nowhere(
    cli, double, tmp_path, script, small
):
    address = double.url.replace("/api/", f"/{SECRET}/")
    command = [script, "--models", "double/a", "--base-url", address, *small]
    commands = [[*command, "--dry-run"], command, [*command, "--json"]]
    commands.append(["analyze.py", "--verify", "results"])
    for command in commands:
        done = cli(*command)
        assert done.returncode == 0, done.stderr
        assert not readable(tmp_path, done.stdout, done.stderr, key=SECRET), command
    assert "[hidden]" in (next(tmp_path.rglob("manifest.json"))).read_text()


@pytest.mark.parametrize("as_flag", [True, False])
@pytest.mark.parametrize(
    "address",
    [
        "https://host/v1#{}",
        "https://host/v1;{}",
        "https://host/v1?key={}",
        "https://user:{}@host/v1",
        "https://{}@host/v1",
        "htp://user:{}@host/v1",
        "http://user:{}@[::1/v1",
        "http://user:{}/v1",
        "user:{}",
        "{}",
    ],
)
def test_an_address_that_may_hold_a_secret_is_refused_without_a_word_of_it(
    cli, tmp_path, address, as_flag
):
    address = address.format(SECRET)
    flags, env = ("--base-url", address), {}
    if not as_flag:
        flags, env = (), {"OPENROUTER_BASE_URL": address}
    done = cli(*STUDY, *flags, "--json", env=env)
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert not readable(tmp_path, done.stdout, done.stderr, key=SECRET)
    assert list(tmp_path.iterdir()) == []
