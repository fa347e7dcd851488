"""The configuration's schema. Unknown keys, wrong types and impossible values are errors."""

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from pdbench.agents.policy import DEFAULT_GENEROUS_PROB, POLICIES
from pdbench.core.metrics import METRICS

NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$"
URL = r"^https?://[^/\s@?#][^\s@?#]*$"
OWN_POLICY = ".py:"  # stands between the file and the class in `my_policies.py:Name`


def _known_policy(name: str) -> str:
    if name not in POLICIES and OWN_POLICY not in name:
        known = ", ".join(POLICIES)
        raise ValueError(f"should be one of {known}, or FILE.py:CLASS, found {name!r}")
    return name


Label = Annotated[str, Field(min_length=1, max_length=80)]
Name = Annotated[str, Field(pattern=NAME)]
PolicyName = Annotated[str, AfterValidator(_known_policy)]
Probability = Annotated[float, Field(ge=0, le=1)]
Dollars = Annotated[float, Field(ge=0)]
Points = Annotated[tuple[float, float], Field(strict=False)]


class Strict(BaseModel):
    """No unknown keys, no coercion, no infinities."""

    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, allow_inf_nan=False
    )


class RunSettings(Strict):
    """Where and how often to play. `output_dir` is relative to the current folder."""

    run_id: Name
    seed: int
    output_dir: Annotated[str, Field(min_length=1)] = "data/runs/{run_id}"
    replicates: Annotated[int, Field(ge=1)] = 1
    limit_usd: Dollars | None = None
    store_prompts: bool = True
    store_raw_responses: bool = True


class Payoffs(Strict):
    """Points of (agent A, agent B) for each pair of actions."""

    CC: Points
    CD: Points
    DC: Points
    DD: Points

    def matrix(self) -> dict[str, tuple[float, float]]:
        """The matrix as a plain mapping."""
        return {"CC": self.CC, "CD": self.CD, "DC": self.DC, "DD": self.DD}


class Game(Strict):
    """The stage game; `noise` is the probability that an action is flipped."""

    payoffs: Payoffs
    noise: Probability = 0.0


class Horizon(Strict):
    """`fixed` with `n` rounds, or `geometric` with `stop_prob` after each round."""

    type: Literal["fixed", "geometric"]
    n: Annotated[int, Field(ge=1)] | None = None
    stop_prob: Annotated[float, Field(gt=0, le=1)] | None = None

    @model_validator(mode="after")
    def _one_kind(self) -> "Horizon":
        wanted, other = "n", "stop_prob"
        if self.type == "geometric":
            wanted, other = "stop_prob", "n"
        if getattr(self, wanted) is None:
            raise ValueError(f"a {self.type} horizon needs {wanted}")
        if getattr(self, other) is not None:
            raise ValueError(f"a {self.type} horizon has no {other}; remove it")
        return self


class Collapse(Strict):
    """Window length in rounds and highest cooperation rate of a collapse."""

    k: Annotated[int, Field(ge=1)] = 10
    threshold: Probability = 0.2


class Metrics(Strict):
    """Which metrics to compute."""

    names: Annotated[list[Literal[tuple(METRICS)]], Field(min_length=1)] = list(METRICS)  # type: ignore[valid-type]
    collapse: Collapse = Collapse()


class PolicySpec(Strict):
    """A classic policy, or `FILE.py:CLASS`. `win_threshold` null means the reward R."""

    type: Literal["policy"]
    policy: PolicyName
    generous_prob: Probability = DEFAULT_GENEROUS_PROB
    win_threshold: float | None = None
    label: Label | None = None


class Provider(Strict):
    """Where answers come from. `api_key_env` names the variable that holds the key.

    `usd_per_million_tokens` is the price of (prompt, answer), where LiteLLM knows none.
    """

    name: Literal["mock", "litellm"]
    model: Annotated[str, Field(min_length=1)]
    base_url: Annotated[str, Field(pattern=URL)] | None = None
    api_key_env: str | None = None
    timeout_s: Annotated[float, Field(gt=0)] = 60.0
    connection_retries: Annotated[int, Field(ge=0, le=10)] = 3
    usd_per_million_tokens: (
        Annotated[tuple[Dollars, Dollars], Field(strict=False)] | None
    ) = None


class Decoding(Strict):
    """Sampling temperature and the longest answer in tokens; null leaves either out."""

    temperature: Annotated[float, Field(ge=0, le=2)] | None = 0.0
    max_tokens: Annotated[int, Field(ge=1)] | None = 8


class Prompting(Strict):
    """Prompt files (relative to the file that names them) and what of the match is shown."""

    system_prompt: str
    round_prompt: str
    personas_dir: str | None = None
    persona: str | None = None
    history_window: Annotated[int, Field(ge=0)] = 10
    include_totals: bool = True
    reveal_horizon: bool = False


class Output(Strict):
    """How answers are read, and how often an invalid one is asked for again."""

    format: Literal["token", "json"] = "token"
    max_retries: Annotated[int, Field(ge=0, le=20)] = 2


class Mock(Strict):
    """How the mock provider answers; see `pdbench.providers.mock`."""

    strategy: Literal["C", "D", "coin", "copycat", "script"] = "copycat"
    p_cooperate: Probability = 0.5
    invalid_rate: Probability = 0.0
    script: list[str] = Field(default_factory=list)

    @model_validator(mode="after")
    def _script_given(self) -> "Mock":
        if (self.strategy == "script") != bool(self.script):
            raise ValueError("strategy script and a non-empty script go together")
        return self


class LLMSpec(Strict):
    """A language model behind a provider."""

    type: Literal["llm"]
    provider: Provider
    decoding: Decoding = Decoding()
    prompting: Prompting
    output: Output = Output()
    mock: Mock = Mock()
    label: Label | None = None

    @property
    def mocked(self) -> bool:
        """Does the mock provider answer in the model's place?"""
        return self.provider.name == "mock"


AgentSpec = PolicySpec | LLMSpec


class ConditionSettings(Strict):
    """What a condition's overrides may change."""

    game: Game
    horizon: Horizon


class ConditionFile(Strict):
    """A matchup as written; its agents are resolved apart, since they may be references."""

    name: Name
    agent_a: dict
    agent_b: dict
    overrides: dict = Field(default_factory=dict)


class ExperimentFile(Strict):
    """An experiment as written."""

    run: RunSettings
    game: Game
    horizon: Horizon
    metrics: Metrics = Metrics()
    conditions: Annotated[list[ConditionFile], Field(min_length=1)]
