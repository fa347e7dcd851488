"""Servers that answer as none should: an answer, or one line; never a traceback, never for ever."""

import socket
import time
from importlib.util import find_spec
from threading import Thread

import pytest

from conftest import pair
from hostile import ANSWERS, KEY, LATE, NAMED, OWN, serving
from pdbench.config.schema import Provider
from pdbench.core.types import ProviderError
from pdbench.providers import wire
from pdbench.runners import registry

ASK = {"system": "rules", "prompt": "Round 1.", "temperature": 0.5, "max_tokens": 3}
DEADLINE_S = 1.0
AMPLE_S = 300.0  # for what ends by itself, however busy the machine is


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setenv("TEST_KEY", KEY)
    monkeypatch.setattr(wire, "PAUSE_S", 0.01)
    registry.client.cache_clear()


def told(name, url, seconds=DEADLINE_S):
    """What an adapter makes of it: the answer, or the line."""
    provider = Provider(
        name=name,
        model={"litellm": "openai/m"}.get(name, "m"),
        base_url=url,
        api_key_env="TEST_KEY",
        timeout_s=seconds,
        connection_retries=1,
    )
    try:
        return registry.client(provider).complete(**ASK), None
    except ProviderError as error:
        return None, str(error)


def test_there_are_enough_of_them():
    assert len(NAMED) >= 8
    assert len(OWN) >= 60


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_or_one_line(name):
    case = ANSWERS[name]
    with serving(case.sends) as url:
        text, line = told("openai", url, DEADLINE_S if case.line == LATE else AMPLE_S)
    assert text == case.text
    if case.text is None:
        assert line.startswith(
            "provider openai (provider.model 'm' at http://127.0.0.1:"
        )
        assert case.line in line
        assert line.endswith("; the same command resumes")
        assert line.isprintable()
        assert KEY not in line


@pytest.mark.parametrize("adapter", ["anthropic", "litellm"])
@pytest.mark.parametrize(
    "name", [*NAMED, "a gzip bomb", "401 with the key", "a flood of 100s"]
)
def test_the_other_adapters_say_one_line_too(adapter, name):
    if adapter == "litellm" and not find_spec("litellm"):
        pytest.skip("the litellm extra is not installed")
    with serving(ANSWERS[name].sends) as url:
        text, line = told(adapter, url)
    assert KEY not in f"{text}{line}"
    assert (text is None) == (line is not None)
    assert line is None or line.isprintable()


@pytest.mark.skipif(
    not find_spec("litellm"), reason="the litellm extra is not installed"
)
def test_no_library_warns_of_an_odd_answer(recwarn):
    with serving(ANSWERS["a list of parts"].sends) as url:
        assert (
            "could not make the call or read its answer"
            in told("litellm", url, AMPLE_S)[1]
        )
    assert not [warning for warning in recwarn if warning.category is UserWarning]


def test_a_key_that_a_server_gives_back_is_not_stored(experiment, pdbench, project):
    with serving(ANSWERS["the key in the answer"].sends) as url:
        model = {
            "provider": {
                "name": "openai",
                "model": "m",
                "base_url": url,
                "api_key_env": "TEST_KEY",
            }
        }
        code, _, err = pdbench("run", experiment([pair("x", model, "TFT")]))
    assert code == 3
    assert KEY not in err
    files = [f for f in (project / "data/runs/test").iterdir() if f.is_file()]
    assert {"rounds.jsonl", "run_manifest.json"} <= {f.name for f in files}
    assert not [f.name for f in files if KEY.encode() in f.read_bytes()]
    assert b'"C ***"' in (project / "data/runs/test/rounds.jsonl").read_bytes()


def test_a_wait_that_the_server_asks_for_counts_against_the_deadline():
    """Were it obeyed, this test would take a day."""
    with serving(ANSWERS["429, come back tomorrow"].sends) as url:
        assert "answered 429" in told("openai", url, AMPLE_S)[1]


def test_a_question_that_is_taken_slowly_is_not_sent_to_its_end():
    """Each part is taken before the deadline; all of them would take three seconds."""
    body, taken = b"x" * 20_000_000, []

    def take(server):
        connection, _ = server.accept()
        with connection:
            while block := connection.recv(65_536):
                taken.append(len(block))
                time.sleep(0.01)

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = Thread(target=take, args=(server,), daemon=True)
        thread.start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(wire.Trouble, match=LATE):
            wire.exchange(wire.Post(url, {}, body, DEADLINE_S, 0))
        thread.join()
    assert 0 < sum(taken) < len(body)


def test_a_name_whose_lookup_hangs(monkeypatch):
    monkeypatch.setattr(wire, "_addresses", lambda host, port: time.sleep(60))
    assert "gave no whole answer within 1 s" in told("openai", "http://slow.test/v1")[1]


@pytest.mark.parametrize(
    ("url", "line"),
    [
        ("http://127.0.0.1:1", "the connection was refused"),
        ("http://nobody.invalid", "the name of its server is not known"),
        ("https://127.0.0.1:{port}", "does not speak TLS"),
    ],
)
def test_a_server_that_is_not_there(url, line):
    with serving(ANSWERS["SSH"].sends) as open_url:
        port = open_url.rpartition(":")[2]
        assert line in told("openai", url.format(port=port), AMPLE_S)[1]


@pytest.mark.parametrize("key", ["two words", "schlüssel", "line\nbreak"])
def test_a_key_that_is_none_is_refused_without_showing_it(
    experiment, pdbench, monkeypatch, key
):
    monkeypatch.setenv("TEST_KEY", key)
    model = {"provider": {"name": "openai", "model": "m", "api_key_env": "TEST_KEY"}}
    code, _, err = pdbench("run", experiment([pair("x", model, "TFT")]))
    assert (code, key in err) == (2, False)
    assert "what the variable TEST_KEY holds is no key" in err


@pytest.mark.parametrize("url", ["http://me:pass@host/v1", "https://host/v1?key=abc"])
def test_an_address_with_a_key_in_it_is_refused(experiment, pdbench, url):
    model = {"provider": {"name": "openai", "model": "m", "base_url": url}}
    code, _, err = pdbench("validate", experiment([pair("x", model, "TFT")]))
    assert code == 2
    assert "without account, key or query" in err
