"""Loopback servers that answer like real models and real servers do, written by somebody who
had read docs/running.md and the servers' own documentation, and none of the code.

    server = start("plain"); server.base_url; server.models; server.close()

A personality reads the last `Decision: [X|Y]` contract of the last user message and picks one
option: six in ten times the one that sorts first, wherever it stands. The draw is seeded by the
text and by how often it was asked. The comments say where each was seen.
"""

import collections
import json
import random
import re
import socket
import struct
import threading
import time
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

CONTRACT = re.compile(r"Decision:\s*\[([^\]|\n]+)\|([^\]|\n]+)\]", re.I)

WHY = [
    "The other party faces the same notice, so the safer course for both is the stable one.",
    "Given the stakes described, this keeps the worst outcome off the table.",
    "The information is incomplete; this choice can be defended on what is known.",
    "Both sides gain more over time from this than from the alternative.",
    "The cost of being wrong is lower this way.",
]
WARUM = [
    "Die andere Seite hat dieselbe Mitteilung erhalten; so bleibt das Risiko für beide klein.",
    "Bei unvollständiger Information ist dies die vorsichtigere Wahl.",
    "Langfristig nützt das beiden Seiten mehr als die Alternative.",
]
MUSE = [
    "The notice describes two parties who cannot talk to each other.",
    "I should consider what the other side would do with the same information.",
    "There is a timing question, and there is a question of trust.",
    "If both reason alike, their choices are correlated in some way.",
    "Let me re-read the last line, it fixes the form of the answer.",
    "On one hand {a} has a cost; on the other hand {b} has a risk.",
    "Hmm, wait. What if the other side expects {b}?",
    "Then again, {a} would look different under that reading.",
]


def n_tokens(text):
    return max(1, (len(text) + 3) // 4) if text else 0


def musing(c, tokens):
    """So many tokens of thoughts that name both labels."""
    lines = [line.format(a=c.choice, b=c.other) for line in MUSE]
    times = tokens * 4 // len(" ".join(lines)) + 1
    return " ".join(lines * times)[: tokens * 4]


class Reply:
    """`cut`: so many bytes of the body are sent, then the connection ends."""

    def __init__(self, status, body, headers=(), content_type="application/json"):
        self.status, self.headers, self.cut = status, dict(headers), None
        self.content_type, self.data = content_type, body
        if not isinstance(body, bytes):
            self.data = json.dumps(body, ensure_ascii=False).encode()


class Drop:
    """The connection is reset without a reply."""


# What a server of this kind takes for the limit of an answer.
LIMITS = dict.fromkeys(("ollama", "llamacpp", "lmstudio"), ("max_tokens",))


class Context:
    """One call: the request, the options of its contract, the choice, the limit."""

    def __init__(self, server, body):
        self.server, self.body, self.spec = server, body, server.spec
        self.dialect, self.model = self.spec["dialect"], body["model"]
        self.messages = body["messages"]
        texts = [message["content"] for message in self.messages]
        self.text = texts[-1]
        *_, self.pair = [("OK", "OK"), *CONTRACT.findall(self.text)]
        key = f"{self.model}\n{self.text}"
        with server.lock:
            server.seen[key] += 1
            self.seen = server.seen[key]
        again = 0 if body.get("temperature") == 0 else self.seen
        self.rng = random.Random(f"{self.spec['name']}|{again}|{key}")
        # The wire's: differs on every try, at temperature 0 too.
        self.luck = random.Random(f"{key}|{self.seen}")
        self.choice, self.other = sorted(self.pair, reverse=self.rng.random() >= 0.6)
        self.why = self.rng.choice(WHY)
        self.prompt_tokens = sum(n_tokens(text) + 4 for text in texts)
        names = LIMITS.get(self.dialect, ("max_completion_tokens", "max_tokens"))
        given = [body[name] for name in names if name in body]
        self.limit = given[0] if given else None

    def form(self, decision="Decision: {}", rationale="Rationale: {}"):
        return f"{decision.format(self.choice)}\n{rationale.format(self.why)}"


# --- what the servers look like: replies, errors, lists of models, as their documentation has them

# {dialect: what its reply, its choice and its message have beside the usual}
EXTRAS = {
    "openai": (
        {"service_tier": "default", "system_fingerprint": "fp_560af6e559"},
        {"logprobs": None},
        {"refusal": None, "annotations": []},
    ),
    "vllm": (
        {"service_tier": None, "prompt_logprobs": None, "kv_transfer_params": None},
        {"logprobs": None, "stop_reason": None, "token_ids": None},
        {"refusal": None, "audio": None, "tool_calls": [], "reasoning": None},
    ),
    "ollama": ({"system_fingerprint": "fp_ollama"}, {}, {}),
    "llamacpp": ({"timings": {"cache_n": 0, "prompt_ms": 30.958}}, {}, {}),
    "lmstudio": ({"stats": {}}, {"logprobs": None}, {"tool_calls": []}),
    "openrouter": (
        {"provider": "Loopback"},
        {"native_finish_reason": "stop", "logprobs": None},
        {"refusal": None, "reasoning": None},
    ),
}


def completion(c, content, finish="stop", thoughts="", thought=None, used=None, **more):
    """A 200 in the dialect's own shape. `thought`: tokens of thoughts, where usage tells them;
    `used`: tokens of the answer. Cuts the content at the limit unless `uncut`."""
    limited = c.limit and not thought and not more.get("uncut")
    if limited and n_tokens(content) > c.limit:
        content, finish = content[: c.limit * 4], "length"
    if used is None:
        used = n_tokens(content) + (thought or 0)
    beside, chosen, said = EXTRAS[c.dialect]
    message = {"role": "assistant", "content": more.get("parts", content), **said}
    if thoughts:
        usual = "reasoning_content" if c.dialect == "llamacpp" else "reasoning"
        message[more.get("field", usual)] = thoughts
        if c.dialect == "vllm" and content == "":
            message["content"] = None
    usage = {"prompt_tokens": c.prompt_tokens, "completion_tokens": used}
    usage["total_tokens"] = c.prompt_tokens + used
    if thought is not None and c.dialect != "llamacpp":
        usage["completion_tokens_details"] = {"reasoning_tokens": thought}
    if c.dialect == "openrouter":
        usage["cost"] = round(used * 4e-7 + c.prompt_tokens * 5e-8, 9)
    choice = {"index": 0, "message": message, "finish_reason": finish, **chosen}
    out = {"id": f"chatcmpl-{c.luck.getrandbits(64):x}", "object": "chat.completion"}
    out |= {"created": int(time.time()), "model": c.model, "choices": [choice]}
    if more.get("usage", True):
        out["usage"] = usage
    return Reply(200, out | beside)


KINDS = {
    "ollama": {400: "invalid_request_error", 404: "not_found_error"},
    "llamacpp": {400: "invalid_request_error", 503: "unavailable_error"},
    "vllm": {400: "BadRequestError", 404: "NotFoundError"},
    "openai": {400: "invalid_request_error", 404: "invalid_request_error"},
}


def error(dialect, status, message, param=None, code=None):
    """An error body in the dialect's documented shape."""
    if dialect == "lmstudio":
        return Reply(status, {"error": message})
    if dialect == "openrouter":
        told = {"code": status, "message": message, "metadata": {}}
        return Reply(status, {"error": told, "user_id": "user_2loop"})
    told = {"message": message, "type": KINDS[dialect].get(status, "server_error")}
    if dialect == "openai":
        told |= {"param": param, "code": code}
    elif dialect == "ollama":  # openai.NewError: param and code always null
        told |= {"param": None, "code": None}
    else:
        told |= {"param": param, "code": status}
    return Reply(status, {"error": told})


def unknown_url(dialect, path):
    if dialect == "ollama":
        return Reply(404, b"404 page not found", content_type="text/plain")
    if dialect == "vllm":
        return Reply(404, {"detail": "Not Found"})
    if dialect == "lmstudio":  # yes, with 200
        return Reply(200, {"error": f"Unexpected endpoint or method. ({path})"})
    return error(dialect, 404, f"Unknown request URL: {path}.", code="unknown_url")


def unknown_model(c):
    if c.dialect == "ollama":
        return error(c.dialect, 404, f"model '{c.model}' not found")
    return error(c.dialect, 404, f"The model `{c.model}` does not exist.")


# {dialect: what a model's row of GET /models has beside the usual}
LISTED = {
    "ollama": {"owned_by": "library"},
    "vllm": {"owned_by": "vllm", "max_model_len": 32768, "permission": []},
    "llamacpp": {"owned_by": "llamacpp", "meta": {"n_ctx_train": 32768}},
    "openrouter": {
        "context_length": 131072,
        "pricing": {"prompt": "0.00000005", "completion": "0.0000004"},
        "supported_parameters": ["max_tokens", "reasoning", "seed", "temperature"],
        "top_provider": {"max_completion_tokens": 65536, "is_moderated": False},
    },
}


def model_list(dialect, names):
    rows = []
    for name in names:
        usual = {"id": name, "object": "model", "created": 1760000000}
        rows.append(usual | LISTED.get(dialect, {}))
    return Reply(200, {"object": "list", "data": rows})


# --- the personalities

ALL = {}


def personality(name, dialect="openai", models=(), served=(), **flags):
    """`served`: which of the models there are, where not all; `flags`: what else the server does."""

    def add(answer):
        models_here = models or [f"loop-{name.replace('_', '-')}"]
        here = [models_here[at] for at in served] or models_here
        known = {"name": name, "dialect": dialect, "models": models_here}
        ALL[name] = known | {"served": here, "answer": answer, **flags}
        return answer

    return add


# the contract itself; OpenAI's chat.completion object
# Plain; GET /models is 404, so no prices and no names.
# FastAPI's 404: {"detail": "Not Found"}
@personality("no_models_endpoint", dialect="vllm", no_models=True)
# Three models asked for, the middle one is not pulled: 404 model 'gemma3:4b' not found, not_found_error.
# Ollama openai.NewError: message, type, null, null
@personality(
    "one_model_missing",
    dialect="ollama",
    models=["llama3.2:3b", "gemma3:4b", "qwen3:4b"],
    served=[0, 2],
)
# 503 Loading model for six seconds from the first call on (GET /v1/models too), plain afterwards.
# llama-server: mostlygeek/llama-swap#146
@personality("loading_503", dialect="llamacpp")
@personality("plain")
def plain(c):
    """The contract to the letter, two lines."""
    return completion(c, c.form())


# small chat models
@personality("lower_case")
def _(c):
    """Everything in lower case, the label too."""
    return completion(c, c.form().lower())


# GPT-4o, Gemini, Llama 3 habit
@personality("bold_markdown")
def _(c):
    """Half `**Decision:** X`, half `**Decision: X**`; bold Rationale, blank line between."""
    head = "**Decision:** {}" if c.rng.random() < 0.5 else "**Decision: {}**"
    return completion(c, f"{head.format(c.choice)}\n\n**Rationale:** {c.why}")


# Qwen, Phi and other habit of fencing forms
@personality("fenced_block")
def _(c):
    """The two lines inside a ``` block."""
    return completion(c, f"```\n{c.form()}\n```")


# repetition seen in 1-3B models
@personality("same_line_twice")
def _(c):
    """`Decision: X`, the rationale, then the same `Decision: X` again."""
    return completion(c, f"{c.form()}\n\nDecision: {c.choice}")


# instruct models tuned on structured output
@personality("json_object")
def _(c):
    """{"decision": "X", "rationale": …} instead of the two lines."""
    return completion(c, json.dumps({"decision": c.choice, "rationale": c.why}))


# chat habit
@personality("preamble")
def _(c):
    """Two sentences before the decision line."""
    return completion(
        c,
        "Thank you for the notice. I have read it carefully and weighed both courses of action.\n\n"
        + c.form(),
    )


# DeepSeek R1, Qwen3 where the server does not split: ollama#9137
@personality("think_tags", dialect="ollama")
def _(c):
    """<think>…</think> in the content (both labels named, a draft line inside), then the two lines."""
    return completion(
        c,
        f"<think>\n{musing(c, 120)}\nMaybe Decision: {c.other}? No, that ignores the timing.\n</think>"
        f"\n\n{c.form()}",
    )


# small fine-tunes that forget the closing tag
@personality("thinking_never_closed", dialect="vllm")
def _(c):
    """<thinking> is opened and never closed; both labels named inside, no decision line; finish stop."""
    return completion(
        c,
        f"<thinking>\n{musing(c, 100)}\nSo it is between {c.choice} and {c.other}, and I lean towards "
        "the one that leaves room for a correction.",
    )


def reasoner(c, need, **more):
    """Thinks for `need` tokens first; an empty answer where the limit is not above."""
    if c.limit is not None and c.limit <= need:
        thoughts = musing(c, min(c.limit, 10000))
        cut = {"finish": "length", "thought": c.limit, "used": c.limit}
        return completion(c, "", thoughts=thoughts, **cut, **more)
    answer, finish = c.form(), "stop"
    if c.limit is not None and n_tokens(answer) > c.limit - need:
        answer, finish = answer[: (c.limit - need) * 4], "length"
    thoughts = musing(c, min(need, 10000))
    return completion(c, answer, finish, thoughts, need, **more)


# gpt-5-nano class; OpenAI's usage.completion_tokens_details; `reasoning` as Ollama's
@personality("reasoning_700")
def _(c):
    """Thinks for 700 tokens. Limit 700 or less: content "", finish length, reasoning_tokens = limit; `reasoning` present."""
    return reasoner(c, 700)


# openrouter-live.md §4, §7 (prices listed, cost in usage)
@personality("reasoning_3000", dialect="openrouter")
def _(c):
    """The same, 3,000 tokens."""
    return reasoner(c, 3000)


# vLLM reasoning parser: message.reasoning, content null
@personality("reasoning_20000", dialect="vllm")
def _(c):
    """The same, 20,000 tokens; content null as in vLLM."""
    return reasoner(c, 20000)


# vast-ai/base-image#140 names a third field; this is a fourth
@personality("reasoning_unknown_field", dialect="llamacpp")
def _(c):
    """Thinks for 500 tokens; the thoughts stand in `thought_trace`, usage has no reasoning_tokens. Limit 500 or less:
    content "" and length. Limit only by max_tokens, as llama.cpp."""
    need = 500
    return reasoner(c, need, field="thought_trace")


# Mistral's content blocks (langchain4j#4474), text part only
@personality("content_parts")
def _(c):
    """content is a list: [{"type": "text", "text": …}], in two parts."""
    return completion(
        c,
        c.form(),
        parts=[
            {"type": "text", "text": f"Decision: {c.choice}\n"},
            {"type": "text", "text": f"Rationale: {c.why}"},
        ],
    )


def rejects(c, name, more=""):
    """400 whenever the parameter is sent; `param` and `code` set."""
    if name not in c.body:
        return plain(c)
    says = f"Unsupported parameter: '{name}' is not supported with this model.{more}"
    return error(c.dialect, 400, says, param=name, code="unsupported_parameter")


# OpenAI o3-mini (appatalks/eva-agent#83)
@personality("rejects_temperature")
def _(c):
    return rejects(c, "temperature")


# OpenAI gpt-5, o-series (microsoft/vscode-copilot-release#8065)
@personality("rejects_max_tokens")
def _(c):
    return rejects(c, "max_tokens", " Use 'max_completion_tokens' instead.")


# OpenAI's wording for unknown keys (nashsu/llm_wiki#336): param and code null
@personality("rejects_seed")
def _(c):
    """400 whenever `seed` is sent; the name stands in the message only."""
    if "seed" in c.body:
        return error(c.dialect, 400, "Unrecognized request argument supplied: seed")
    return plain(c)


def unexpected(name, value):
    """One of pydantic's details."""
    says = "Extra inputs are not permitted"
    return {
        "type": "extra_forbidden",
        "loc": ("body", name),
        "msg": says,
        "input": value,
    }


# Mistral (Gitlawb/openclaude#739)
@personality("rejects_max_completion_tokens")
def _(c):
    """422 with a pydantic detail list, extra_forbidden, whenever `max_completion_tokens` is sent."""
    name = "max_completion_tokens"
    if name in c.body:
        return Reply(422, {"detail": [unexpected(name, c.body[name])]})
    return plain(c)


# older vLLM (voideditor/void#128): flat body, list as text
@personality("rejects_all_extras", dialect="vllm")
def _(c):
    """400 for any key but model, messages, max_tokens; all of them named in one message (a Python list as text)."""
    extra = c.body.keys() - {"model", "messages", "max_tokens"}
    if not extra:
        return plain(c)
    says = str([unexpected(name, c.body[name]) for name in sorted(extra)])
    flat = {"object": "error", "message": says, "type": "BadRequestError"}
    return Reply(400, flat | {"param": None, "code": 400})


REFUSALS = [
    "I'm sorry, but I can't make this decision for you.",
    "I'm not able to choose between these options, as it could lead to harm. I'd be happy to discuss "
    "the considerations involved instead.",
    "As an AI language model, I cannot make decisions of this kind.",
]


# Claude, Llama-Guard-tuned models; 200 and stop, openrouter-live.md §1
@personality("refuses_some")
def _(c):
    """20 % refusals in words, finish stop."""
    if c.rng.random() < 0.2:
        return completion(c, c.rng.choice(REFUSALS))
    return plain(c)


# llama-cpp-python ignores max_completion_tokens: openrouter-live.md §11
@personality("ignores_limit", dialect="llamacpp")
def _(c):
    """The two lines, then rambling of four times the limit (at least 3,000 tokens); completion_tokens says so; stop."""
    limits = [c.body.get(name, 0) for name in ("max_tokens", "max_completion_tokens")]
    want = min(max(3000, 4 * max(limits)), 40000)
    text = c.form() + "\n\n" + musing(c, want)
    return completion(c, text, uncut=True)


# home-made wrappers; usage missing altogether
@personality("no_usage")
def _(c):
    """Plain, but the reply has no `usage`."""
    return completion(c, c.form(), usage=False)


# vLLM EngineDeadError (vllm#24495)
@personality("dies_midway", dialect="vllm")
def _(c):
    """15 answers, then 500 for ever: EngineCore encountered an issue."""
    if sum(c.server.seen.values()) <= 15:
        return plain(c)
    says = (
        "EngineCore encountered an issue. See stack trace (above) for the root cause."
    )
    return error(c.dialect, 500, says)


# CPU inference
@personality("slow", dialect="llamacpp")
def _(c):
    """Plain after 0.4 s."""
    time.sleep(0.4)
    return plain(c)


# OpenAI rate limit body; Retry-After in seconds
@personality("storm_429")
def _(c):
    """The first 20 calls each get 429 with Retry-After 1 twice before their answer."""
    with c.server.lock:
        stormed = c.server.state.setdefault("stormed", set())
        if len(stormed) < 20:
            stormed.add((c.model, c.text))
    if c.seen > 2 or (c.model, c.text) not in stormed:
        return plain(c)
    says = (
        f"Rate limit reached for {c.model} on requests per min (RPM): Limit 3, Used 3, Requested 1. "
        "Please try again in 1s."
    )
    reply = error(c.dialect, 429, says, code="rate_limit_exceeded")
    reply.headers = {"Retry-After": "1", "x-ratelimit-reset-requests": "1s"}
    return reply


# German fine-tunes (EM German, LeoLM) translate the form's labels
@personality("german", dialect="ollama")
def _(c):
    """German: half keep `Decision: X` with a German Begründung, half write `Entscheidung: X`."""
    warum = c.rng.choice(WARUM)
    if c.rng.random() < 0.5:
        return completion(c, f"Entscheidung: {c.choice}\nBegründung: {warum}")
    return completion(c, f"Decision: {c.choice}\nBegründung (max. 2 Zeilen): {warum}")


# openrouter.md: empty with stop happens too
@personality("empty_30", dialect="llamacpp")
def _(c):
    """30 % empty content with finish stop."""
    return completion(c, "" if c.rng.random() < 0.3 else c.form())


# self-correction in chat models
@personality("two_decisions")
def _(c):
    """`Decision: X`, a second thought, `Decision: Y`."""
    return completion(
        c,
        f"{c.form()}\n\nOn reflection, the timing speaks against that.\n\nDecision: {c.other}\n"
        f"Rationale: {c.rng.choice(WHY)}",
    )


# ------------------------------------------------------------------------------------------- fourteen the list lacks


# form-fillers copy the brackets of the contract
@personality("brackets_kept", dialect="llamacpp")
def _(c):
    """`Decision: [X]`, one third of them with the form's own `Rationale (max 2 lines):`."""
    tail = "Rationale (max 2 lines): {}" if c.rng.random() < 0.33 else "Rationale: {}"
    return completion(c, c.form("Decision: [{}]", tail))


# DeepSeek R1 / QwQ templates put <think> into the prompt, so only </think> comes back
@personality("orphan_think_close", dialect="vllm")
def _(c):
    """Thoughts with a draft `Decision: <other>` line, `</think>` without an opening tag, then the two lines."""
    return completion(
        c,
        f"Okay, so I need to decide here. {musing(c, 90)}\n\nA first draft:\nDecision: {c.other}\n"
        f"Hmm, that does not hold up. So {c.choice} it is.\n</think>\n\n{c.form()}",
    )


# gpt-oss without a harmony parser: llama.cpp#15181, kekzl/imp#768, macprovider#743
@personality("harmony_leak", dialect="llamacpp")
def _(c):
    """Half raw channel markers (<|channel|>analysis…<|channel|>final<|message|>), half with the markers stripped:
    `analysis…assistantfinalDecision: X`."""
    think = f"We need to output a decision line. {musing(c, 40)} Options: {c.pair and '|'.join(c.pair)}."
    if c.rng.random() < 0.5:
        return completion(
            c,
            f"<|channel|>analysis<|message|>{think}<|end|><|start|>assistant<|channel|>final<|message|>"
            + c.form(),
        )
    return completion(c, f"analysis{think}assistantfinal{c.form()}")


# terse small models (SmolLM, TinyLlama)
@personality("label_only", dialect="ollama")
def _(c):
    """Just the label, without `Decision:`; half with a sentence below it, one in six with a full stop."""
    text = c.choice + ("." if c.rng.random() < 0.17 else "")
    return completion(c, text if c.rng.random() < 0.5 else f"{text}\n\n{c.why}")


# base models and missing stop tokens
@personality("runs_on", dialect="llamacpp")
def _(c):
    """Right two lines, then the model invents further notices with other labels and decisions until the limit
    (max_tokens, else 700 tokens): finish length, the decision itself complete."""
    text, i = c.form(), 0
    size = min(c.limit or 700, 4000)
    while n_tokens(text) < size:
        i += 1
        text += (
            f"\n\nUser: Notice {i + 1}. A room must be booked for Tuesday.\nDecision: [Room {i}|Room {i + 1}]\n"
            f"Rationale (max 2 lines):\n\nAssistant: Decision: {c.rng.choice([f'Room {i}', f'Room {i + 1}'])}\n"
            f"Rationale: {c.rng.choice(WHY)}"
        )
    return completion(c, text[: size * 4], finish="length", uncut=True, used=size)


# Gemma 4 on Ollama: ollama#15288
@personality("answer_in_reasoning", dialect="ollama")
def _(c):
    """content "" and finish stop; the two lines are the end of `reasoning`."""
    return completion(
        c,
        "",
        thoughts=f"{musing(c, 60)}\n\n{c.form()}",
        used=60 + n_tokens(c.form()),
    )


# unsloth#6570, open-webui/computer#193: stream although not asked for
@personality("sse_anyway")
def _(c):
    """text/event-stream with chat.completion.chunk events and [DONE], though `stream` was not true."""
    text = c.form()
    deltas = [{"content": text[at : at + 12]} for at in range(0, len(text), 12)]
    raw = ""
    for delta in [{"role": "assistant", "content": ""}, *deltas, {}]:
        finish = None if delta else "stop"
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        chunk = {"id": "chatcmpl-1", "object": "chat.completion.chunk"}
        chunk |= {"model": c.model, "choices": [choice]}
        raw += f"data: {json.dumps(chunk)}\n\n"
    raw += "data: [DONE]\n\n"
    return Reply(200, raw.encode(), content_type="text/event-stream; charset=utf-8")


# vLLM's prompt + limit check (ogx#4534, vllm#33425)
@personality("context_2048", dialect="vllm")
def _(c):
    """max_model_len 2048: 400 when the prompt's tokens plus the limit pass it, although the answer needs 40."""
    want = c.limit or 0
    if c.prompt_tokens + want > 2048:
        return error(
            c.dialect,
            400,
            f"This model's maximum context length is 2048 tokens. However, you requested "
            f"{c.prompt_tokens + want} tokens ({c.prompt_tokens} in the messages, {want} in the completion). "
            "Please reduce the length of the messages or completion.",
            param="max_tokens",
        )
    return plain(c)


# Gemini's OpenAI endpoint (Vali-98/ChatterUI#227): the body is a list
@personality("google_list_error")
def _(c):
    """400 on `seed`, and the error body is a LIST with one object, status INVALID_ARGUMENT."""
    if "seed" not in c.body:
        return plain(c)
    says = 'Invalid JSON payload received. Unknown name "seed": Cannot find field.'
    told = {"code": 400, "message": says, "status": "INVALID_ARGUMENT"}
    return Reply(400, [{"error": told}])


# Azure OpenAI (compl-ai#20, alpaca_eval#430)
@personality("azure_filter")
def _(c):
    """15 % are 400 with code content_filter and innererror ResponsibleAIPolicyViolation; a status of one input."""
    if c.rng.random() >= 0.15:
        return plain(c)
    says = (
        "The response was filtered due to the prompt triggering Azure OpenAI's content management "
        "policy. Please modify your prompt and retry."
    )
    told = {"message": says, "type": None, "param": "prompt", "status": 400}
    inner = {"code": "ResponsibleAIPolicyViolation"}
    return Reply(400, {"error": told | {"code": "content_filter", "innererror": inner}})


# nginx or a tunnel before a local server
@personality("flaky_proxy", dialect="ollama")
def _(c):
    """15 % nginx 502 pages in HTML, 10 % connections reset without a reply, 10 % bodies cut off half way."""
    x = c.luck.random() if c.seen < 4 else 1  # a call is asked four times
    if x < 0.15:
        page = b"<html><center><h1>502 Bad Gateway</h1></center>nginx/1.24.0 (Ubuntu)</html>\r\n"
        return Reply(502, page, content_type="text/html")
    if x < 0.25:
        return Drop()
    r = completion(c, c.form())
    if x < 0.35:
        r.cut = len(r.data) // 2
    return r


# Gemma 2 / Mistral templates under vLLM (vllm#6862, suitenumerique#197)
@personality("strict_roles", dialect="vllm")
def _(c):
    """400 on a system (or developer) message, 400 unless user and assistant alternate from user on; else plain."""
    roles = [m.get("role") for m in c.messages]
    if any(r in ("system", "developer") for r in roles):
        return error(
            c.dialect, 400, "System role not supported System role not supported"
        )
    if any(r != ("user", "assistant")[i % 2] for i, r in enumerate(roles)):
        text = "Conversation roles must alternate user/assistant/user/assistant/..."
        return error(c.dialect, 400, f"{text} {text}")
    return plain(c)


# LM Studio: string errors, 200 for unknown paths (lmstudio-bug-tracker#618)
@personality("error_in_200", dialect="lmstudio")
def _(c):
    """20 % are HTTP 200 whose body is {"error": "<string>"} without choices; unknown paths (GET /v1/key) are 200 too."""
    if c.luck.random() < 0.2:
        says = "The model has crashed without additional information."
        return Reply(200, {"error": says})
    return plain(c)


# --- the server


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    timeout = 120

    def log_message(self, *args):
        pass

    def send(self, reply):
        if isinstance(reply, Drop):
            self.close_connection = True
            linger = struct.pack("ii", 1, 0)
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            self.connection.close()
            return
        headers = {"Content-Type": reply.content_type, **reply.headers}
        headers["Content-Length"] = str(len(reply.data))
        self.send_response(reply.status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(reply.data[: reply.cut])
        self.close_connection = reply.cut is not None

    def loading(self):
        """503 for the first six seconds, where the personality loads."""
        owner = self.server.owner
        with owner.lock:
            since = owner.state.setdefault("first", time.monotonic())
        if owner.spec["name"] != "loading_503" or time.monotonic() - since >= 6:
            return None
        return error("llamacpp", 503, "Loading model")

    def do_GET(self):
        spec = self.server.owner.spec
        listed = self.path.partition("?")[0] == "/v1/models"
        if listed and not spec.get("no_models"):
            reply = self.loading() or model_list(spec["dialect"], spec["served"])
        else:
            reply = unknown_url(spec["dialect"], f"GET {self.path}")
        self.send(reply)

    def do_POST(self):
        owner, spec = self.server.owner, self.server.owner.spec
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        reply = self.loading()
        if reply is None:
            c = Context(owner, body)
            known = c.model in spec["served"] or c.dialect in ("llamacpp", "lmstudio")
            reply = spec["answer"](c) if known else unknown_model(c)
        self.send(reply)


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


class Running:
    def __init__(self, name):
        self.name, self.spec = name, ALL[name]
        self.models, self.lock = self.spec["models"], threading.Lock()
        self.seen, self.state = collections.Counter(), {}
        self.http = Server(("127.0.0.1", 0), Handler)
        self.http.owner = self
        self.base_url = f"http://127.0.0.1:{self.http.server_port}/v1"
        serve = partial(self.http.serve_forever, poll_interval=0.1)
        threading.Thread(target=serve, daemon=True).start()

    def close(self):
        self.http.shutdown()
        self.http.server_close()


start = Running
