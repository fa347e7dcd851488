"""How a server is asked for log-probabilities, and whether an assistant's turn can be opened.

Three ways, the best that a server has: "continue" (the chat endpoint goes on with an opened turn,
as vLLM does by two flags), "completions" (the chat template is written by us), "reply" (nothing
can be opened: the reply itself is read). Pure but for `way_of`, which asks through `post`.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

CONTINUE, COMPLETIONS, REPLY = "continue", "completions", "reply"
WAYS = {CONTINUE: "after an opened turn", COMPLETIONS: "after an opened turn (completions, ChatML)",
        REPLY: "in the reply itself"}
MOST_TOP = 20        # alternatives that OpenAI's interface gives at most
TOPS = (MOST_TOP, 5)  # what a server is asked for, in turn
SAME = 1e-3          # of a log-probability, asked for twice
GOES_ON = {"continue_final_message": True, "add_generation_prompt": False}
Post = Callable[[str, dict], tuple[int | None, str]]


class Way(NamedTuple):
    """`top`: how many alternatives a token the server gives."""

    name: str
    top: int


def chatml(messages: Sequence[Mapping[str, str]], opening: str) -> str:
    """Messages in ChatML, the template of SmolLM2, Qwen and others, with the turn opened."""
    turns = "".join(f"<|im_start|>{one['role']}\n{one['content']}<|im_end|>\n" for one in messages)
    return f"{turns}<|im_start|>assistant\n{opening}"


def body(chat: Mapping[str, Any], way: Way, opening: str, tokens: int) -> dict[str, Any]:
    """The body of a chat completion, turned into one that is read. An opened turn is gone on with
    at temperature 0: which token is taken does not matter then, and the likeliest leads on."""
    if way.name == COMPLETIONS:
        return {"model": chat["model"], "prompt": chatml(chat["messages"], opening),
                "max_tokens": tokens, "temperature": 0, "logprobs": way.top}
    out = dict(chat) | {"logprobs": True, "top_logprobs": way.top}
    if way.name == CONTINUE:
        out |= {"messages": [*chat["messages"], {"role": "assistant", "content": opening}],
                "temperature": 0, **dict.fromkeys(out.keys() & {
                    "max_tokens", "max_completion_tokens"}, tokens), **GOES_ON}
    return out


def opened(sent: Mapping[str, Any]) -> str | None:
    """What the turn of a body was opened with, None where it was not."""
    if "prompt" in sent:
        return str(sent["prompt"]).rpartition("<|im_start|>assistant\n")[2]
    if sent.get("continue_final_message") is True:
        return sent["messages"][-1]["content"]
    return None


def steps(logprobs: Any) -> tuple[tuple[str, dict[str, float]], ...]:
    """(token, {alternative: log-probability}) of each token of an answer, of either endpoint; empty
    where the server gave none."""
    if not isinstance(logprobs, Mapping):
        return ()
    try:
        if isinstance(logprobs.get("content"), list):
            return tuple(_step(one["token"], [(one["token"], one["logprob"]), *(
                (each["token"], each["logprob"]) for each in one["top_logprobs"])])
                for one in logprobs["content"])
        return tuple(_step(token, [(token, value), *top.items()]) for token, value, top in zip(
            logprobs["tokens"], logprobs["token_logprobs"], logprobs["top_logprobs"], strict=True))
    except (KeyError, TypeError, ValueError, AttributeError):
        return ()


def _step(token: str, pairs: Sequence[tuple[str, float]]) -> tuple[str, dict[str, float]]:
    known = {name: float(value) for name, value in pairs if float(value) <= SAME}
    if not isinstance(token, str) or len(known) < len(dict(pairs)):
        raise ValueError(token)
    return token, known


# --- asked once --------------------------------------------------------------------------------

# With a system message: a template may put in one of its own where there is none.
SAYING = ({"role": "system", "content": "You answer in one word."},
          {"role": "user", "content": "Say yes or no."})


def way_of(post: Post, model: str) -> Way | None:
    """The best way that a server has, found by asking; None where it gives no log-probabilities.

    A turn counts as opened where the server counts one more token for one more word: who ignores
    the flags, or has another template, counts more.
    """
    ask = {"model": model, "messages": list(SAYING), "max_tokens": 1, "temperature": 0}
    plain = _answer(post("/chat/completions", ask))
    size = _prompt_tokens(plain)
    for name, path in ((CONTINUE, "/chat/completions"), (COMPLETIONS, "/completions")):
        for top in TOPS:
            tried = body(ask, Way(name, top), "Yes", 1)
            first = _answer(post(path, tried))
            if not _first(first):
                continue
            if size is None or _prompt_tokens(first) != size + 1:
                break
            if _same(_first(first), _first(_answer(post(path, tried | {"temperature": 1})))):
                return Way(name, top)
            break
    chat = _answer(post("/chat/completions", body(ask, Way(REPLY, MOST_TOP), "", 1)))
    return Way(REPLY, MOST_TOP) if _first(chat) else None


def _answer(answer: tuple[int | None, str]) -> dict:
    status, text = answer
    try:
        data = json.loads(text) if status == 200 else {}
    except (ValueError, RecursionError):
        data = {}
    return data if isinstance(data, dict) else {}


def _prompt_tokens(data: Mapping) -> int | None:
    usage = data.get("usage")
    return usage.get("prompt_tokens") if isinstance(usage, Mapping) else None


def _first(data: Mapping) -> dict[str, float]:
    """The distribution of the first token."""
    choices = data.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    read = steps(choice.get("logprobs")) if isinstance(choice, Mapping) else ()
    return read[0][1] if read and len(read[0][1]) > 1 else {}


def _same(cold: Mapping[str, float], warm: Mapping[str, float]) -> bool:
    """Whether temperature leaves the probabilities as they are."""
    best = max(cold, key=cold.__getitem__)
    return best in warm and abs(cold[best] - warm[best]) <= SAME
