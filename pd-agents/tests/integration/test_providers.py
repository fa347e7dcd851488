"""The adapters against a double of their servers on 127.0.0.1: what is sent, what is read."""

import itertools
import json
import socket
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from threading import Thread

import pytest

from conftest import pair
from pdbench.config.schema import Provider
from pdbench.core.types import ProviderError
from pdbench.runners import registry
from support import rounds_of


class Double(ThreadingHTTPServer):
    """Answers chat completions and messages; the text is what `answer` makes of the request."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests, self.failures = [], []
        self.answer = lambda body: "C"

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append((self.path, dict(self.headers), body))
        if self.server.failures:
            failure = self.server.failures.pop(0)
            if isinstance(failure, dict):
                return self.reply(400, failure)
            return self.reply(failure, {"error": {"message": "no, not now"}})
        text = self.server.answer(body)
        if isinstance(text, dict | list):
            return self.reply(200, text)
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        choice = {
            "index": 0,
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": text},
        }
        if self.path.endswith("/messages"):
            return self.reply(200, {
                "id": "m", "type": "message", "role": "assistant", "model": "m",
                "content": [{"type": "text", "text": text}], "stop_reason": "end_turn",
                "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1},
            })  # fmt: skip
        return self.reply(
            200,
            {
                "id": "c",
                "object": "chat.completion",
                "created": 1,
                "model": "m",
                "choices": [choice],
                "usage": usage,
            },
        )

    def reply(self, status, data):
        payload = json.dumps(data).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)

    def log_message(self, *_):
        pass


@pytest.fixture
def double():
    server = Double()
    thread = Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    registry.client.cache_clear()
    yield server
    server.shutdown()
    server.server_close()
    registry.client.cache_clear()


ADAPTERS = {
    "openai": ("m", "/v1", "/v1/chat/completions"),
    "litellm": ("openai/m", "/v1", "/v1/chat/completions"),
    "anthropic": ("m", "", "/v1/messages"),
}


@pytest.fixture(params=ADAPTERS)
def adapter(request, double, monkeypatch):
    """(a function that makes the client, the server, the path it should call)"""
    if request.param == "litellm" and not find_spec("litellm"):
        pytest.skip("the litellm extra is not installed")
    monkeypatch.setenv("TEST_KEY", "k-123")
    model, base, path = ADAPTERS[request.param]

    def make(**settings):
        return registry.client(Provider(
            name=request.param, model=model, base_url=double.url + base, api_key_env="TEST_KEY",
            **({"connection_retries": 2} | settings)))  # fmt: skip

    return make, double, path


ASK = {"system": "rules", "prompt": "Round 1.", "temperature": 0.5, "max_tokens": 3}


def test_what_is_sent_and_what_is_read(adapter):
    make, double, path = adapter
    double.answer = lambda body: " d\n"
    assert make().complete(**ASK) == " d\n"
    ((called, headers, body),) = double.requests
    assert called == path
    sent = {name.lower(): value for name, value in headers.items()}
    assert "k-123" in sent.get("authorization", "") + sent.get("x-api-key", "")
    assert (body["model"], body["temperature"], body["max_tokens"]) == ("m", 0.5, 3)
    user = {"role": "user", "content": "Round 1."}
    if path.endswith("messages"):
        assert (body["system"], body["messages"]) == ("rules", [user])
    else:
        assert body["messages"] == [{"role": "system", "content": "rules"}, user]


def test_a_server_that_is_busy_is_asked_again(adapter):
    make, double, _ = adapter
    double.failures = [503]
    assert make().complete(**ASK) == "C"
    assert len(double.requests) == 2


def test_a_refusal_is_one_line_with_provider_model_and_what_to_do(adapter):
    make, double, _ = adapter
    double.failures = [401] * 9
    with pytest.raises(ProviderError) as error:
        make().complete(**ASK)
    text = str(error.value)
    assert "\n" not in text
    assert "k-123" not in text
    assert f"at {double.url}" in text
    assert "no, not now" in text
    assert text.endswith("; the same command resumes")


def test_an_empty_answer_is_an_answer(adapter):
    make, double, _ = adapter
    double.answer = lambda body: ""
    assert make().complete(**ASK) == ""


@pytest.mark.parametrize(
    "reply",
    [
        {},
        [],
        {"choices": []},
        {"choices": [{"message": None}]},
        {"content": None},
        {"content": "C"},
    ],
)
def test_a_reply_of_another_kind_is_no_answer(adapter, reply):
    make, double, _ = adapter
    double.answer = lambda body: reply
    with pytest.raises(ProviderError) as error:
        make(connection_retries=0).complete(**ASK)
    assert "\n" not in str(error.value)


def test_a_key_never_shows(adapter):
    make, double, _ = adapter
    double.failures = [{"error": {"message": "bad key k-123", "type": "x"}}]
    with pytest.raises(ProviderError) as error:
        make().complete(**ASK)
    assert "bad key ***" in str(error.value)


def config(name, double, **settings):
    model, base, _ = ADAPTERS[name]
    return {
        "provider": {
            "name": name,
            "model": model,
            "base_url": double.url + base,
            "connection_retries": 0,
            **settings,
        },
        "label": "real",
    }


def copycat(body):
    last = body["messages"][-1]["content"].rpartition("other player played ")[2][:1]
    return last if last in "CD" else "C"


@pytest.mark.parametrize("jobs", [1, 4])
def test_a_run_against_an_openai_compatible_server(
    experiment, pdbench, project, double, jobs
):
    double.answer = copycat
    path = experiment(
        [pair("real-alld", config("openai", double), "ALLD")], run={"replicates": 4}
    )
    code, out, _ = pdbench("run", path, "--jobs", jobs)
    assert (code, "SIMULATED" in out) == (0, False)
    rows = rounds_of(project / "data/runs/test")
    assert [r["agent_a_action"] for r in rows] == ["C", "D", "D", "D", "D"] * 4
    assert {r["simulated"] for r in rows} == {False}
    assert len(double.requests) == 20


def test_a_provider_that_is_down(experiment, pdbench, project):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    registry.client.cache_clear()
    model = {
        "provider": {
            "name": "openai",
            "model": "m",
            "base_url": url,
            "connection_retries": 0,
        }
    }
    path = experiment([pair("fine", "TFT", "ALLD"), pair("down", model, "TFT")])
    code, _, err = pdbench("run", path)
    assert code == 3
    assert err.splitlines()[-1] == (
        "error: condition 'down' replicate 0: provider openai (provider.model 'm' at"
        f" {url}): nothing listens there: the connection was refused; the same command resumes"
    )
    assert len(rounds_of(project / "data/runs/test")) == 5
    assert not (project / "data/runs/test/aggregates.parquet").exists()


def test_one_failing_match_stops_the_others_after_their_round(
    experiment, pdbench, project, double
):
    path = experiment(
        [pair(f"m{i}", config("openai", double), "TFT") for i in range(3)],
        horizon={"type": "fixed", "n": 40},
    )
    answered, number = [], itertools.count(1)

    def answer(body):
        if next(number) == 30:
            double.failures += [500] * 3
        answered.append(body)
        return "C"

    double.answer = answer
    assert pdbench("run", path, "--jobs", 3)[0] == 3
    assert 30 <= len(answered) < 40
    assert len(rounds_of(project / "data/runs/test")) == len(answered)
    double.failures = []
    assert pdbench("run", path, "--jobs", 3)[0] == 0
    assert len(rounds_of(project / "data/runs/test")) == len(answered) == 120
