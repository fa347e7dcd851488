"""Short ways to say what a test plays, and a server that answers as a model's would."""

import json
import shutil
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from typing import NamedTuple

import pytest
import yaml

from pdbench import cli
from pdbench.config.load import Condition, LoadedAgent
from pdbench.config.schema import Game, Horizon, PolicySpec, RunSettings
from pdbench.core.payoff import DEFAULT_MATRIX
from pdbench.runners.budget import Budget
from pdbench.runners.match import Match, play
from pdbench.storage.rounds import MatchRounds

CONFIGS = Path(__file__).parents[1] / "configs"


@pytest.fixture
def project(tmp_path, monkeypatch) -> Path:
    """A folder with a copy of the shipped configurations, as the current folder."""
    shutil.copytree(CONFIGS, tmp_path / "configs")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def pdbench(monkeypatch, capsys):
    """Run a command in this process: (exit code, stdout, stderr)."""

    def call(*arguments) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["pdbench", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            sys.exit(cli.main())
        said = capsys.readouterr()
        return ended.value.code or 0, said.out, said.err

    return call


@pytest.fixture
def experiment(project):
    """Write configs/test.yaml: three rounds of the given conditions, with sections replaced."""

    def write(*conditions, **sections) -> Path:
        data = {
            "run": {"run_id": "test", "seed": 7},
            "game": {
                "payoffs": {"CC": [3, 3], "CD": [0, 5], "DC": [5, 0], "DD": [1, 1]}
            },
            "horizon": {"type": "fixed", "n": 3},
            "conditions": list(conditions),
        }
        data["run"].update(sections.pop("run", {}))
        path = project / "configs/test.yaml"
        path.write_text(yaml.safe_dump(data | sections))
        return path

    return write


def pair(name: str, a, b, **more) -> dict:
    """A condition of two agents: policy names, or overrides of the default model."""
    return {"name": name, "agent_a": agent(a), "agent_b": agent(b), **more}


def agent(what) -> dict:
    if isinstance(what, str):
        return {"ref": "agents/policies.yaml", "overrides": {"policy": what}}
    return {"ref": "agents/llm_default.yaml", "overrides": what}


def rounds_of(run_dir: Path) -> list[dict]:
    """The lines of rounds.jsonl without their times, which differ between equal runs."""
    records = []
    for line in (run_dir / "rounds.jsonl").read_text().splitlines():
        record = json.loads(line)
        del record["timestamp_utc"]
        records.append(record)
    return records


class Double(ThreadingHTTPServer):
    """An OpenAI-compatible server: `answers` are used up in order, the last one for ever.

    An answer is a text, a whole message (dict), or a status and its error (tuple).
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers: list = ["C"]
        self.requests: list[dict] = []
        self.usage = {"prompt_tokens": 100, "completion_tokens": 10}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        double = self.server
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        body["authorization"] = self.headers["Authorization"]
        double.requests.append(body)
        answer = double.answers[0]
        if len(double.answers) > 1:
            double.answers.pop(0)
        if isinstance(answer, tuple):
            status, message = answer
            return self.reply(status, {"error": {"message": message}})
        if isinstance(answer, str):
            answer = {"content": answer}
        message = {"role": "assistant", **answer}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        head = {"id": "1", "object": "chat.completion", "created": 1, "model": "m"}
        return self.reply(200, head | {"choices": [choice], "usage": double.usage})

    def reply(self, status: int, data: dict) -> None:
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
    Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def model(double, monkeypatch):
    """Overrides of the default model that ask the double."""
    if not find_spec("litellm"):
        pytest.skip("the litellm extra is not installed")
    monkeypatch.setenv("DOUBLE_KEY", "sk-double-1234567890")
    provider = {
        "name": "litellm",
        "model": "openai/m",
        "base_url": double.url,
        "api_key_env": "DOUBLE_KEY",
        "connection_retries": 0,
    }
    return {"provider": provider, "label": "double"}


class Played(NamedTuple):
    """A match: the actions of both as they counted, and their points."""

    a: str
    b: str
    a_total: float
    b_total: float


def play_match(a, b, n=None, stop_prob=None, replicate=0, **game) -> Played:
    """A match of two policies (names or settings), without files; `game`: payoffs, noise."""
    agents = {}
    for seat, settings in (("agent_a", a), ("agent_b", b)):
        if isinstance(settings, str):
            settings = {"policy": settings}
        spec = PolicySpec(type="policy", **settings)
        agents[seat] = LoadedAgent(spec, spec.policy)
    kind = "fixed" if n else "geometric"
    horizon = Horizon(type=kind, n=n, stop_prob=stop_prob)
    rules = Game(**{"payoffs": dict(DEFAULT_MATRIX)} | game)
    condition = Condition("pair", rules, horizon, agents)
    match = Match(RunSettings(run_id="test", seed=1), condition, replicate)
    rounds = list(play(match, MatchRounds(*match.key), Budget(None)))
    moves = {seat: [each.moves[seat] for each in rounds] for seat in agents}
    a, b = ("".join(move.action for move in side) for side in moves.values())
    return Played(a, b, *(side[-1].total for side in moves.values()))
