"""Loopback servers that answer like real models and real servers do, written by somebody who
had read docs/running.md and the servers' own documentation, and none of the code.

    server = start("plain"); server.base_url; server.models; server.stats(); server.close()

A personality reads the last `Decision: [X|Y]` contract of the last user message and picks one
option: six in ten times the one that sorts first, wherever it stands. The draw is seeded by the
text and by how often it was asked. `MAIN` are thirty; `HELD` are those that nothing was tuned
on.
"""

import collections
import hashlib
import json
import random
import re
import socket
import struct
import sys
import threading
import time
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


def flat(content):
    """Text of a message's content: a string, null, or a list of parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(p.get("text") or "" for p in content if isinstance(p, dict))
    return ""


def musing(ctx, tokens):
    out, size, i = [], 0, 0
    while size < tokens * 4:
        line = MUSE[i % len(MUSE)].format(a=ctx.choice, b=ctx.other)
        out.append(line)
        size += len(line) + 1
        i += 1
    return " ".join(out)[: tokens * 4]


class Reply:
    def __init__(
        self, status, body, headers=None, content_type="application/json", cut=None
    ):
        self.status, self.headers, self.content_type, self.cut = (
            status,
            headers or {},
            content_type,
            cut,
        )
        self.data = (
            body
            if isinstance(body, bytes)
            else json.dumps(body, ensure_ascii=False).encode()
        )


class Drop:
    """The connection is reset without a reply."""

    status = 0


class Context:
    """One call: the request, the options of its contract, the choice, the limit the dialect understands."""

    def __init__(self, server, body):
        self.server, self.body, self.spec = server, body, server.spec
        self.dialect = self.spec["dialect"]
        self.model = body.get("model") or ""
        messages = (
            body.get("messages") if isinstance(body.get("messages"), list) else []
        )
        self.messages = [m for m in messages if isinstance(m, dict)]
        users = [m for m in self.messages if m.get("role") == "user"]
        self.text = flat(users[-1].get("content")) if users else ""
        found = CONTRACT.findall(self.text)
        self.pair = tuple(s.strip() for s in found[-1]) if found else None
        key = self.model + "\n" + self.text
        with server.lock:
            server.seen[key] += 1
            self.again = 0 if body.get("temperature") == 0 else server.seen[key]
            server.calls += 1
            self.call = server.calls
        digest = hashlib.sha256(
            f"{self.spec['name']}|{self.again}|{key}".encode()
        ).digest()
        self.rng = random.Random(digest)
        self.luck = random.Random(
            f"{key}|{server.seen[key]}"
        )  # the wire's: differs on every try, at temperature 0 too
        first, second = sorted(self.pair) if self.pair else ("OK", "OK")
        self.choice, self.other = (
            (first, second) if self.rng.random() < 0.6 else (second, first)
        )
        self.why = self.rng.choice(WHY)
        self.prompt_tokens = (
            sum(n_tokens(flat(m.get("content"))) + 4 for m in self.messages) + 3
        )
        names = {
            "ollama": ("max_tokens",),
            "llamacpp": ("max_tokens", "n_predict"),
            "lmstudio": ("max_tokens",),
        }
        given = [
            body.get(n)
            for n in names.get(self.dialect, ("max_completion_tokens", "max_tokens"))
        ]
        given = [v for v in given if isinstance(v, int) and v > 0]
        self.limit = given[0] if given else None

    def form(self, decision="Decision: {}", rationale="Rationale: {}"):
        return f"{decision.format(self.choice)}\n{rationale.format(self.why)}"


# ------------------------------------------------------------------------------------------- what the servers look like


def hexid(ctx, n=24):
    return hashlib.sha256(f"{ctx.server.port}|{ctx.call}".encode()).hexdigest()[:n]


def completion(
    ctx,
    content,
    finish="stop",
    reasoning=None,
    reasoning_field=None,
    reasoning_tokens=None,
    completion_tokens=None,
    usage=True,
    keep_limit=True,
    parts=None,
):
    """A 200 in the dialect's own shape. Cuts the content at the limit unless told otherwise."""
    d = ctx.dialect
    if (
        keep_limit
        and isinstance(content, str)
        and ctx.limit
        and not reasoning_tokens
        and n_tokens(content) > ctx.limit
    ):
        content, finish = content[: ctx.limit * 4], "length"
    used = (
        completion_tokens
        if completion_tokens is not None
        else n_tokens(content) + (reasoning_tokens or 0)
    )
    message = {"role": "assistant", "content": parts if parts is not None else content}
    choice = {"index": 0, "message": message, "finish_reason": finish}
    out = {
        "id": "chatcmpl-" + hexid(ctx),
        "object": "chat.completion",
        "created": int(time.time()),
        "model": ctx.model,
        "choices": [choice],
    }
    counts = {
        "prompt_tokens": ctx.prompt_tokens,
        "completion_tokens": used,
        "total_tokens": ctx.prompt_tokens + used,
    }
    if d == "openai":
        message.update(refusal=None, annotations=[])
        choice["logprobs"] = None
        counts.update(
            prompt_tokens_details={"cached_tokens": 0, "audio_tokens": 0},
            completion_tokens_details={
                "reasoning_tokens": reasoning_tokens or 0,
                "audio_tokens": 0,
                "accepted_prediction_tokens": 0,
                "rejected_prediction_tokens": 0,
            },
        )
        out.update(service_tier="default", system_fingerprint="fp_560af6e559")
    elif d == "vllm":
        message.update(
            refusal=None,
            annotations=None,
            audio=None,
            function_call=None,
            tool_calls=[],
            reasoning=None,
        )
        if content == "" and reasoning:
            message["content"] = None
        choice.update(logprobs=None, stop_reason=None, token_ids=None)
        counts["prompt_tokens_details"] = None
        if reasoning_tokens is not None:
            counts["completion_tokens_details"] = {"reasoning_tokens": reasoning_tokens}
        out.update(
            service_tier=None,
            system_fingerprint=None,
            prompt_logprobs=None,
            prompt_token_ids=None,
            kv_transfer_params=None,
        )
    elif d == "ollama":
        out.update(
            id=f"chatcmpl-{ctx.rng.randrange(1000)}", system_fingerprint="fp_ollama"
        )
    elif d == "llamacpp":
        out.update(
            system_fingerprint="b6730-e2fa76f4",
            timings={
                "cache_n": 0,
                "prompt_n": ctx.prompt_tokens,
                "prompt_ms": 30.958,
                "prompt_per_token_ms": 0.31,
                "prompt_per_second": 3230.18,
                "predicted_n": used,
                "predicted_ms": used * 18.9,
                "predicted_per_token_ms": 18.9,
                "predicted_per_second": 52.9,
            },
        )
    elif d == "lmstudio":
        message["tool_calls"] = []
        choice["logprobs"] = None
        out.update(stats={}, system_fingerprint=ctx.model)
    elif d == "openrouter":
        choice["native_finish_reason"] = finish
        choice["logprobs"] = None
        message.update(refusal=None, reasoning=None)
        counts.update(
            cost=round(used * 4e-7 + ctx.prompt_tokens * 5e-8, 9),
            is_byok=False,
            prompt_tokens_details={"cached_tokens": 0, "cache_write_tokens": 0},
            cost_details={"upstream_inference_cost": None},
            completion_tokens_details={"reasoning_tokens": reasoning_tokens or 0},
        )
        out.update(id="gen-" + hexid(ctx), provider="Loopback")
    if reasoning:
        message[
            reasoning_field or ("reasoning_content" if d == "llamacpp" else "reasoning")
        ] = reasoning
    if usage:
        out["usage"] = counts
    return Reply(200, out)


def error(ctx_or_dialect, status, message, kind=None, param=None, code=None):
    """An error body in the dialect's documented shape."""
    d = getattr(ctx_or_dialect, "dialect", ctx_or_dialect)
    if d == "ollama":  # openai.NewError: three types only, param and code always null
        kind = {400: "invalid_request_error", 404: "not_found_error"}.get(
            status, "api_error"
        )
        return Reply(
            status,
            {"error": {"message": message, "type": kind, "param": None, "code": None}},
        )
    if d == "llamacpp":
        kind = kind or {
            400: "invalid_request_error",
            401: "authentication_error",
            404: "not_found_error",
            503: "unavailable_error",
        }.get(status, "server_error")
        return Reply(
            status, {"error": {"code": status, "message": message, "type": kind}}
        )
    if d == "vllm":
        kind = kind or {400: "BadRequestError", 404: "NotFoundError"}.get(
            status, "Internal Server Error"
        )
        return Reply(
            status,
            {
                "error": {
                    "message": message,
                    "type": kind,
                    "param": param,
                    "code": status,
                }
            },
        )
    if d == "lmstudio":
        return Reply(status, {"error": message})
    if d == "openrouter":
        return Reply(
            status,
            {
                "error": {"code": status, "message": message, "metadata": {}},
                "user_id": "user_2loop",
            },
        )
    kind = kind or ("invalid_request_error" if status < 500 else "server_error")
    return Reply(
        status,
        {"error": {"message": message, "type": kind, "param": param, "code": code}},
    )


def unknown_url(dialect, method, path):
    if dialect == "ollama":
        return Reply(
            404, b"404 page not found", content_type="text/plain; charset=utf-8"
        )
    if dialect == "vllm":
        return Reply(404, {"detail": "Not Found"})
    if dialect == "llamacpp":
        return error("llamacpp", 404, "File Not Found")
    if dialect == "lmstudio":  # yes, with 200
        return Reply(
            200, {"error": f"Unexpected endpoint or method. ({method} {path})"}
        )
    if dialect == "openrouter":
        return error("openrouter", 404, "Not Found")
    return error(
        "openai",
        404,
        f"Unknown request URL: {method} {path}. Please check the URL for typos, or see the docs "
        "at https://platform.openai.com/docs/api-reference/.",
        code="unknown_url",
    )


def unknown_model(ctx):
    d, m = ctx.dialect, ctx.model
    if d in ("llamacpp", "lmstudio"):
        return None  # one model is loaded; its name in the request is ignored
    if d == "ollama":
        return error(ctx, 404, f"model '{m}' not found")
    if d == "vllm":
        return error(ctx, 404, f"The model `{m}` does not exist.", param="model")
    if d == "openrouter":
        return error(ctx, 400, f"{m} is not a valid model ID")
    return error(
        ctx,
        404,
        f"The model `{m}` does not exist or you do not have access to it.",
        code="model_not_found",
    )


def model_list(dialect, names):
    now = 1760000000
    rows = [
        {"id": n, "object": "model", "created": now, "owned_by": "system"}
        for n in names
    ]
    out = {"object": "list", "data": rows}
    for r in rows:
        n = r["id"]
        if dialect == "ollama":
            r["owned_by"] = "library"
        elif dialect == "vllm":
            r.update(
                owned_by="vllm",
                root=n,
                parent=None,
                max_model_len=32768,
                permission=[
                    {
                        "id": "modelperm-0123456789abcdef",
                        "object": "model_permission",
                        "created": now,
                        "allow_create_engine": False,
                        "allow_sampling": True,
                        "allow_logprobs": True,
                        "allow_search_indices": False,
                        "allow_view": True,
                        "allow_fine_tuning": False,
                        "organization": "*",
                        "group": None,
                        "is_blocking": False,
                    }
                ],
            )
        elif dialect == "llamacpp":
            r.update(
                owned_by="llamacpp",
                aliases=[n],
                tags=[],
                meta={
                    "vocab_type": 2,
                    "n_vocab": 151936,
                    "n_ctx": 8192,
                    "n_ctx_train": 32768,
                    "n_embd": 2048,
                    "n_params": 3085938688,
                    "size": 1929902080,
                },
            )
        elif dialect == "lmstudio":
            r["owned_by"] = "organization_owner"
            r.pop("created")
        elif dialect == "openrouter":
            r.update(
                canonical_slug=n,
                name=n,
                context_length=131072,
                pricing={
                    "prompt": "0.00000005",
                    "completion": "0.0000004",
                    "request": "0",
                    "image": "0",
                },
                supported_parameters=[
                    "max_tokens",
                    "reasoning",
                    "include_reasoning",
                    "seed",
                    "temperature",
                ],
                top_provider={
                    "context_length": 131072,
                    "max_completion_tokens": 65536,
                    "is_moderated": False,
                },
                per_request_limits=None,
                expiration_date=None,
            )
    if dialect == "llamacpp":
        out["models"] = [
            {
                "name": n,
                "model": n,
                "modified_at": "",
                "size": "",
                "digest": "",
                "type": "model",
                "description": "",
                "tags": [""],
                "capabilities": ["completion"],
                "parameters": "",
                "details": {
                    "parent_model": "",
                    "format": "gguf",
                    "family": "",
                    "families": [""],
                    "parameter_size": "",
                    "quantization_level": "",
                },
            }
            for n in names
        ]
    return Reply(200, out)


# --------------------------------------------------------------------------------------------------- the personalities

MAIN, HELD_OUT = {}, {}


def personality(name, dialect="openai", held=False, models=None, source="", **flags):
    def add(fn):
        table = HELD_OUT if held else MAIN
        table[name] = {
            "name": name,
            "dialect": dialect,
            "models": models or ["loop-" + name.replace("_", "-")],
            "doc": " ".join((fn.__doc__ or "").split()),
            "source": source,
            "fn": fn,
            "flags": flags,
        }
        return fn

    return add


@personality("plain", source="the contract itself; OpenAI's chat.completion object")
def _(c):
    """The contract to the letter, two lines."""
    return completion(c, c.form())


@personality("lower_case", source="small chat models")
def _(c):
    """Everything in lower case, the label too."""
    return completion(c, c.form().lower())


@personality("bold_markdown", source="GPT-4o, Gemini, Llama 3 habit")
def _(c):
    """Half `**Decision:** X`, half `**Decision: X**`; bold Rationale, blank line between."""
    head = "**Decision:** {}" if c.rng.random() < 0.5 else "**Decision: {}**"
    return completion(c, f"{head.format(c.choice)}\n\n**Rationale:** {c.why}")


@personality("fenced_block", source="Qwen, Phi and other habit of fencing forms")
def _(c):
    """The two lines inside a ``` block."""
    return completion(c, f"```\n{c.form()}\n```")


@personality("same_line_twice", source="repetition seen in 1-3B models")
def _(c):
    """`Decision: X`, the rationale, then the same `Decision: X` again."""
    return completion(c, f"{c.form()}\n\nDecision: {c.choice}")


@personality("json_object", source="instruct models tuned on structured output")
def _(c):
    """{"decision": "X", "rationale": …} instead of the two lines."""
    return completion(c, json.dumps({"decision": c.choice, "rationale": c.why}))


@personality("preamble", source="chat habit")
def _(c):
    """Two sentences before the decision line."""
    return completion(
        c,
        "Thank you for the notice. I have read it carefully and weighed both courses of action.\n\n"
        + c.form(),
    )


@personality(
    "think_tags",
    dialect="ollama",
    source="DeepSeek R1, Qwen3 where the server does not split: ollama#9137",
)
def _(c):
    """<think>…</think> in the content (both labels named, a draft line inside), then the two lines."""
    return completion(
        c,
        f"<think>\n{musing(c, 120)}\nMaybe Decision: {c.other}? No, that ignores the timing.\n</think>"
        f"\n\n{c.form()}",
    )


@personality(
    "thinking_never_closed",
    dialect="vllm",
    source="small fine-tunes that forget the closing tag",
)
def _(c):
    """<thinking> is opened and never closed; both labels named inside, no decision line; finish stop."""
    return completion(
        c,
        f"<thinking>\n{musing(c, 100)}\nSo it is between {c.choice} and {c.other}, and I lean towards "
        "the one that leaves room for a correction.",
    )


def reasoner(c, need, **kw):
    answer = c.form()
    if c.limit is not None and c.limit <= need:
        return completion(
            c,
            "",
            finish="length",
            reasoning=musing(c, min(c.limit, 10000)),
            reasoning_tokens=c.limit,
            completion_tokens=c.limit,
            **kw,
        )
    room = None if c.limit is None else c.limit - need
    finish = "stop"
    if room is not None and n_tokens(answer) > room:
        answer, finish = answer[: room * 4], "length"
    return completion(
        c,
        answer,
        finish=finish,
        reasoning=musing(c, min(need, 10000)),
        reasoning_tokens=need,
        **kw,
    )


@personality(
    "reasoning_700",
    source="gpt-5-nano class; OpenAI's usage.completion_tokens_details; `reasoning` as Ollama's",
)
def _(c):
    """Thinks for 700 tokens. Limit 700 or less: content "", finish length, reasoning_tokens = limit; `reasoning` present."""
    return reasoner(c, 700)


@personality(
    "reasoning_3000",
    dialect="openrouter",
    source="openrouter-live.md §4, §7 (prices listed, cost in usage)",
)
def _(c):
    """The same, 3,000 tokens."""
    return reasoner(c, 3000)


@personality(
    "reasoning_20000",
    dialect="vllm",
    source="vLLM reasoning parser: message.reasoning, content null",
)
def _(c):
    """The same, 20,000 tokens; content null as in vLLM."""
    return reasoner(c, 20000)


@personality(
    "reasoning_unknown_field",
    dialect="llamacpp",
    source="vast-ai/base-image#140 names a third field; this is a fourth",
)
def _(c):
    """Thinks for 500 tokens; the thoughts stand in `thought_trace`, usage has no reasoning_tokens. Limit 500 or less:
    content "" and length. Limit only by max_tokens, as llama.cpp."""
    need = 500
    r = reasoner(c, need, reasoning_field="thought_trace")
    return r


@personality(
    "content_parts",
    source="Mistral's content blocks (langchain4j#4474), text part only",
)
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


@personality("rejects_temperature", source="OpenAI o3-mini (appatalks/eva-agent#83)")
def _(c):
    """400 whenever `temperature` is sent; param and code set."""
    if "temperature" in c.body:
        return error(
            c,
            400,
            "Unsupported parameter: 'temperature' is not supported with this model.",
            param="temperature",
            code="unsupported_parameter",
        )
    return completion(c, c.form())


@personality(
    "rejects_max_tokens",
    source="OpenAI gpt-5, o-series (microsoft/vscode-copilot-release#8065)",
)
def _(c):
    """400 whenever `max_tokens` is sent."""
    if "max_tokens" in c.body:
        return error(
            c,
            400,
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
            "'max_completion_tokens' instead.",
            param="max_tokens",
            code="unsupported_parameter",
        )
    return completion(c, c.form())


@personality(
    "rejects_seed",
    source="OpenAI's wording for unknown keys (nashsu/llm_wiki#336): param and code null",
)
def _(c):
    """400 whenever `seed` is sent; the name stands in the message only."""
    if "seed" in c.body:
        return error(c, 400, "Unrecognized request argument supplied: seed")
    return completion(c, c.form())


@personality("rejects_max_completion_tokens", source="Mistral (Gitlawb/openclaude#739)")
def _(c):
    """422 with a pydantic detail list, extra_forbidden, whenever `max_completion_tokens` is sent."""
    if "max_completion_tokens" in c.body:
        return Reply(
            422,
            {
                "detail": [
                    {
                        "type": "extra_forbidden",
                        "loc": ["body", "max_completion_tokens"],
                        "msg": "Extra inputs are not permitted",
                        "input": c.body["max_completion_tokens"],
                    }
                ]
            },
        )
    return completion(c, c.form())


@personality(
    "rejects_all_extras",
    dialect="vllm",
    source="older vLLM (voideditor/void#128): flat body, list as text",
)
def _(c):
    """400 for any key but model, messages, max_tokens; all of them named in one message (a Python list as text)."""
    extra = [
        {
            "type": "extra_forbidden",
            "loc": ("body", k),
            "msg": "Extra inputs are not permitted",
            "input": v,
        }
        for k, v in c.body.items()
        if k not in ("model", "messages", "max_tokens")
    ]
    if extra:
        return Reply(
            400,
            {
                "object": "error",
                "message": str(extra),
                "type": "BadRequestError",
                "param": None,
                "code": 400,
            },
        )
    return completion(c, c.form())


@personality(
    "refuses_some",
    source="Claude, Llama-Guard-tuned models; 200 and stop, openrouter-live.md §1",
)
def _(c):
    """20 % refusals in words, finish stop."""
    if c.rng.random() < 0.2:
        return completion(
            c,
            c.rng.choice(
                [
                    "I'm sorry, but I can't make this decision for you.",
                    "I'm not able to choose between these options, as it could lead to harm. I'd be happy to discuss the "
                    "considerations involved instead.",
                    "As an AI language model, I cannot make decisions of this kind.",
                ]
            ),
        )
    return completion(c, c.form())


@personality(
    "ignores_limit",
    dialect="llamacpp",
    source="llama-cpp-python ignores max_completion_tokens: openrouter-live.md §11",
)
def _(c):
    """The two lines, then rambling of four times the limit (at least 3,000 tokens); completion_tokens says so; stop."""
    limits = [
        v
        for v in (c.body.get("max_tokens"), c.body.get("max_completion_tokens"))
        if isinstance(v, int)
    ]
    want = min(max([3000] + [4 * v for v in limits]), 40000)
    text = c.form() + "\n\n" + musing(c, want)
    return completion(c, text, keep_limit=False)


@personality("no_usage", source="home-made wrappers; usage missing altogether")
def _(c):
    """Plain, but the reply has no `usage`."""
    return completion(c, c.form(), usage=False)


@personality(
    "no_models_endpoint",
    dialect="vllm",
    no_models=True,
    source='FastAPI\'s 404: {"detail": "Not Found"}',
)
def _(c):
    """Plain; GET /models is 404, so no prices and no names."""
    return completion(c, c.form())


@personality(
    "one_model_missing",
    dialect="ollama",
    models=["llama3.2:3b", "gemma3:4b", "qwen3:4b"],
    served=[0, 2],
    source="Ollama openai.NewError: message, type, null, null",
)
def _(c):
    """Three models asked for, the middle one is not pulled: 404 model 'gemma3:4b' not found, not_found_error."""
    return completion(c, c.form())


@personality("dies_midway", dialect="vllm", source="vLLM EngineDeadError (vllm#24495)")
def _(c):
    """15 answers, then 500 for ever: EngineCore encountered an issue."""
    with c.server.lock:
        c.server.state["answers"] = c.server.state.get("answers", 0) + 1
        dead = c.server.state["answers"] > 15
    if dead:
        return error(
            c,
            500,
            "EngineCore encountered an issue. See stack trace (above) for the root cause.",
        )
    return completion(c, c.form())


@personality("slow", dialect="llamacpp", source="CPU inference")
def _(c):
    """Plain after 0.4 s."""
    time.sleep(0.4)
    return completion(c, c.form())


@personality("storm_429", source="OpenAI rate limit body; Retry-After in seconds")
def _(c):
    """The first 20 calls each get 429 with Retry-After 1 twice before their answer."""
    key = hashlib.sha256((c.model + c.text).encode()).hexdigest()
    with c.server.lock:
        s = c.server.state
        if s.get("served", 0) < 20:
            if s.get(key, 0) < 2:
                s[key] = s.get(key, 0) + 1
                r = error(
                    c,
                    429,
                    f"Rate limit reached for {c.model} on requests per min (RPM): Limit 3, Used 3, "
                    "Requested 1. Please try again in 1s.",
                    kind="requests",
                    code="rate_limit_exceeded",
                )
                r.headers = {
                    "Retry-After": "1",
                    "x-ratelimit-limit-requests": "3",
                    "x-ratelimit-remaining-requests": "0",
                    "x-ratelimit-reset-requests": "1s",
                }
                return r
            s[key] = 0
            s["served"] = s.get("served", 0) + 1
    return completion(c, c.form())


@personality(
    "german",
    dialect="ollama",
    source="German fine-tunes (EM German, LeoLM) translate the form's labels",
)
def _(c):
    """German: half keep `Decision: X` with a German Begründung, half write `Entscheidung: X`."""
    warum = c.rng.choice(WARUM)
    if c.rng.random() < 0.5:
        return completion(c, f"Entscheidung: {c.choice}\nBegründung: {warum}")
    return completion(c, f"Decision: {c.choice}\nBegründung (max. 2 Zeilen): {warum}")


@personality(
    "empty_30", dialect="llamacpp", source="openrouter.md: empty with stop happens too"
)
def _(c):
    """30 % empty content with finish stop."""
    return completion(c, "" if c.rng.random() < 0.3 else c.form())


@personality("two_decisions", source="self-correction in chat models")
def _(c):
    """`Decision: X`, a second thought, `Decision: Y`."""
    return completion(
        c,
        f"{c.form()}\n\nOn reflection, the timing speaks against that.\n\nDecision: {c.other}\n"
        f"Rationale: {c.rng.choice(WHY)}",
    )


# ------------------------------------------------------------------------------------------- fourteen the list lacks


@personality(
    "brackets_kept",
    held=True,
    dialect="llamacpp",
    source="form-fillers copy the brackets of the contract",
)
def _(c):
    """`Decision: [X]`, one third of them with the form's own `Rationale (max 2 lines):`."""
    tail = "Rationale (max 2 lines): {}" if c.rng.random() < 0.33 else "Rationale: {}"
    return completion(c, c.form("Decision: [{}]", tail))


@personality(
    "orphan_think_close",
    held=True,
    dialect="vllm",
    source="DeepSeek R1 / QwQ templates put <think> into the prompt, so only </think> comes back",
)
def _(c):
    """Thoughts with a draft `Decision: <other>` line, `</think>` without an opening tag, then the two lines."""
    return completion(
        c,
        f"Okay, so I need to decide here. {musing(c, 90)}\n\nA first draft:\nDecision: {c.other}\n"
        f"Hmm, that does not hold up. So {c.choice} it is.\n</think>\n\n{c.form()}",
    )


@personality(
    "harmony_leak",
    held=True,
    dialect="llamacpp",
    source="gpt-oss without a harmony parser: llama.cpp#15181, kekzl/imp#768, macprovider#743",
)
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


@personality(
    "label_only",
    held=True,
    dialect="ollama",
    source="terse small models (SmolLM, TinyLlama)",
)
def _(c):
    """Just the label, without `Decision:`; half with a sentence below it, one in six with a full stop."""
    text = c.choice + ("." if c.rng.random() < 0.17 else "")
    return completion(c, text if c.rng.random() < 0.5 else f"{text}\n\n{c.why}")


@personality(
    "runs_on",
    held=True,
    dialect="llamacpp",
    source="base models and missing stop tokens",
)
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
    return completion(
        c, text[: size * 4], finish="length", keep_limit=False, completion_tokens=size
    )


@personality(
    "answer_in_reasoning",
    held=True,
    dialect="ollama",
    source="Gemma 4 on Ollama: ollama#15288",
)
def _(c):
    """content "" and finish stop; the two lines are the end of `reasoning`."""
    return completion(
        c,
        "",
        reasoning=f"{musing(c, 60)}\n\n{c.form()}",
        completion_tokens=60 + n_tokens(c.form()),
    )


@personality(
    "sse_anyway",
    held=True,
    source="unsloth#6570, open-webui/computer#193: stream although not asked for",
)
def _(c):
    """text/event-stream with chat.completion.chunk events and [DONE], though `stream` was not true."""
    base = {
        "id": "chatcmpl-" + hexid(c),
        "object": "chat.completion.chunk",
        "created": int(time.time()),
        "model": c.model,
    }
    text, rows = c.form(), [{"role": "assistant", "content": ""}]
    rows += [{"content": text[i : i + 12]} for i in range(0, len(text), 12)]
    events = [
        dict(base, choices=[{"index": 0, "delta": d, "finish_reason": None}])
        for d in rows
    ]
    events.append(
        dict(base, choices=[{"index": 0, "delta": {}, "finish_reason": "stop"}])
    )
    raw = "".join(f"data: {json.dumps(e)}\n\n" for e in events) + "data: [DONE]\n\n"
    return Reply(200, raw.encode(), content_type="text/event-stream; charset=utf-8")


@personality(
    "loading_503",
    held=True,
    dialect="llamacpp",
    source="llama-server: mostlygeek/llama-swap#146",
)
def _(c):
    """503 Loading model for six seconds from the first call on (GET /v1/models too), plain afterwards."""
    return completion(c, c.form())


@personality(
    "context_2048",
    held=True,
    dialect="vllm",
    source="vLLM's prompt + limit check (ogx#4534, vllm#33425)",
)
def _(c):
    """max_model_len 2048: 400 when the prompt's tokens plus the limit pass it, although the answer needs 40."""
    want = c.limit or 0
    if c.prompt_tokens + want > 2048:
        return error(
            c,
            400,
            f"This model's maximum context length is 2048 tokens. However, you requested "
            f"{c.prompt_tokens + want} tokens ({c.prompt_tokens} in the messages, {want} in the completion). "
            "Please reduce the length of the messages or completion.",
            param="max_tokens",
        )
    return completion(c, c.form())


@personality(
    "google_list_error",
    held=True,
    source="Gemini's OpenAI endpoint (Vali-98/ChatterUI#227): the body is a list",
)
def _(c):
    """400 on `seed`, and the error body is a LIST with one object, status INVALID_ARGUMENT."""
    if "seed" in c.body:
        text = 'Invalid JSON payload received. Unknown name "seed": Cannot find field.'
        return Reply(
            400,
            [
                {
                    "error": {
                        "code": 400,
                        "message": text,
                        "status": "INVALID_ARGUMENT",
                        "details": [
                            {
                                "@type": "type.googleapis.com/google.rpc.BadRequest",
                                "fieldViolations": [{"description": text}],
                            }
                        ],
                    }
                }
            ],
        )
    return completion(c, c.form())


@personality(
    "azure_filter", held=True, source="Azure OpenAI (compl-ai#20, alpaca_eval#430)"
)
def _(c):
    """15 % are 400 with code content_filter and innererror ResponsibleAIPolicyViolation; a status of one input."""
    if c.rng.random() < 0.15:
        safe = {"filtered": False, "severity": "safe"}
        return Reply(
            400,
            {
                "error": {
                    "message": "The response was filtered due to the prompt triggering Azure OpenAI's content management policy. "
                    "Please modify your prompt and retry. To learn more about our content filtering policies please read our "
                    "documentation: https://go.microsoft.com/fwlink/?linkid=2198766",
                    "type": None,
                    "param": "prompt",
                    "code": "content_filter",
                    "status": 400,
                    "innererror": {
                        "code": "ResponsibleAIPolicyViolation",
                        "content_filter_result": {
                            "hate": safe,
                            "jailbreak": {"filtered": False, "detected": False},
                            "self_harm": safe,
                            "sexual": safe,
                            "violence": {"filtered": True, "severity": "medium"},
                        },
                    },
                }
            },
        )
    return completion(c, c.form())


@personality(
    "flaky_proxy",
    held=True,
    dialect="ollama",
    source="nginx or a tunnel before a local server",
)
def _(c):
    """15 % nginx 502 pages in HTML, 10 % connections reset without a reply, 10 % bodies cut off half way."""
    x = c.luck.random()
    if x < 0.15:
        return Reply(
            502,
            b"<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n<center><h1>502 Bad "
            b"Gateway</h1></center>\r\n<hr><center>nginx/1.24.0 (Ubuntu)</center>\r\n</body>\r\n</html>\r\n",
            content_type="text/html",
        )
    if x < 0.25:
        return Drop()
    r = completion(c, c.form())
    if x < 0.35:
        r.cut = len(r.data) // 2
    return r


@personality(
    "strict_roles",
    held=True,
    dialect="vllm",
    source="Gemma 2 / Mistral templates under vLLM (vllm#6862, suitenumerique#197)",
)
def _(c):
    """400 on a system (or developer) message, 400 unless user and assistant alternate from user on; else plain."""
    roles = [m.get("role") for m in c.messages]
    if any(r in ("system", "developer") for r in roles):
        return error(c, 400, "System role not supported System role not supported")
    if any(r != ("user", "assistant")[i % 2] for i, r in enumerate(roles)):
        text = "Conversation roles must alternate user/assistant/user/assistant/..."
        return error(c, 400, f"{text} {text}")
    return completion(c, c.form())


@personality(
    "error_in_200",
    held=True,
    dialect="lmstudio",
    source="LM Studio: string errors, 200 for unknown paths (lmstudio-bug-tracker#618)",
)
def _(c):
    """20 % are HTTP 200 whose body is {"error": "<string>"} without choices; unknown paths (GET /v1/key) are 200 too."""
    if c.luck.random() < 0.2:
        return Reply(
            200,
            {
                "error": "The model has crashed without additional information. (Exit code: "
                "18446744072635812000)"
            },
        )
    return completion(c, c.form())


ALL = {**MAIN, **HELD_OUT}


# -------------------------------------------------------------------------------------------------------- the server


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    timeout = 120

    def log_message(self, *args):
        pass

    def send(self, reply):
        owner = self.server.owner
        with owner.lock:
            owner.statuses[str(reply.status)] += 1
        if isinstance(reply, Drop):
            self.close_connection = True
            self.connection.setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
            )
            self.connection.close()
            return
        names = {"ollama": None, "vllm": "uvicorn", "llamacpp": "llama.cpp"}
        self.send_response_only(reply.status)
        server_name = names.get(owner.spec["dialect"])
        if server_name:
            self.send_header("Server", server_name)
        self.send_header("Date", self.date_time_string())
        self.send_header("Content-Type", reply.content_type)
        self.send_header("Content-Length", str(len(reply.data)))
        for k, v in reply.headers.items():
            self.send_header(k, v)
        self.end_headers()
        if reply.cut is not None:
            self.wfile.write(reply.data[: reply.cut])
            self.wfile.flush()
            self.close_connection = True
        elif self.command != "HEAD":
            self.wfile.write(reply.data)

    def body(self):
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            out = b""
            while True:
                size = int(self.rfile.readline().split(b";")[0] or b"0", 16)
                out += self.rfile.read(size)
                self.rfile.readline()
                if not size:
                    return out
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def path_only(self):
        return self.path.split("?")[0].rstrip("/") or "/"

    def loading(self):
        owner = self.server.owner
        if owner.spec["name"] != "loading_503":
            return None
        with owner.lock:
            since = owner.state.setdefault("first", time.monotonic())
        return (
            error("llamacpp", 503, "Loading model")
            if time.monotonic() - since < 6
            else None
        )

    def do_GET(self):
        owner, path = self.server.owner, self.path_only()
        d = owner.spec["dialect"]
        with owner.lock:
            owner.gets[path] += 1
        if path in ("/v1/models", "/models") and not owner.spec["flags"].get(
            "no_models"
        ):
            wait = self.loading()
            if path == "/models" and d in ("ollama", "vllm", "lmstudio"):
                return self.send(unknown_url(d, "GET", self.path))
            return self.send(wait or model_list(d, owner.served))
        if d == "ollama" and path == "/":
            return self.send(
                Reply(
                    200, b"Ollama is running", content_type="text/plain; charset=utf-8"
                )
            )
        if d == "ollama" and path == "/api/version":
            return self.send(Reply(200, {"version": "0.12.6"}))
        if d == "ollama" and path == "/api/tags":
            return self.send(
                Reply(200, {"models": [{"name": n, "model": n} for n in owner.served]})
            )
        if d in ("vllm", "llamacpp") and path == "/health":
            wait = self.loading()
            return self.send(
                wait or Reply(200, {"status": "ok"} if d == "llamacpp" else b"")
            )
        if d == "vllm" and path == "/version":
            return self.send(Reply(200, {"version": "0.11.0"}))
        self.send(unknown_url(d, "GET", self.path))

    do_HEAD = do_GET

    def do_POST(self):
        owner, path, raw = self.server.owner, self.path_only(), self.body()
        d = owner.spec["dialect"]
        if path not in ("/v1/chat/completions",):
            return self.send(unknown_url(d, "POST", self.path))
        try:
            body = json.loads(raw)
            assert isinstance(body, dict)
        except (ValueError, AssertionError):
            return self.send(
                error(d, 400, "We could not parse the JSON body of your request.")
            )
        with owner.lock:
            owner.keys.update(k for k in body)
            owner.last_body = body
        wait = self.loading()
        if wait:
            return self.send(wait)
        c = Context(owner, body)
        if not c.messages:
            return self.send(error(d, 400, "[] is too short - 'messages'"))
        if c.model not in owner.served:
            missing = unknown_model(c)
            if missing:
                return self.send(missing)
        reply = owner.spec["fn"](c)
        with owner.lock:
            if reply.status == 200 and c.pair:
                owner.intended[c.choice] += 1
            if not c.pair:
                owner.no_contract += 1
        self.send(reply)


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    allow_reuse_address = True

    def handle_error(self, request, client_address):
        kind = sys.exc_info()[0]
        if kind and not issubclass(kind, (OSError, ValueError)):
            super().handle_error(request, client_address)


class Running:
    def __init__(self, name, port=0):
        self.name, self.spec = name, ALL[name]
        self.models = list(self.spec["models"])
        served = self.spec["flags"].get("served")
        self.served = [self.models[i] for i in served] if served else self.models
        self.lock = threading.Lock()
        self.seen, self.statuses, self.gets = (
            collections.Counter(),
            collections.Counter(),
            collections.Counter(),
        )
        self.intended, self.keys = collections.Counter(), collections.Counter()
        self.calls, self.no_contract, self.state, self.last_body = 0, 0, {}, None
        self.http = Server(("127.0.0.1", port), Handler)
        self.http.owner = self
        self.port = self.http.server_address[1]
        self.base_url = f"http://127.0.0.1:{self.port}/v1"
        self.thread = threading.Thread(
            target=self.http.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True
        )
        self.thread.start()

    def stats(self):
        with self.lock:
            return {
                "replies_by_status": dict(self.statuses),
                "gets": dict(self.gets),
                "chat_calls": self.calls,
                "decisions_answered": dict(self.intended),
                "without_contract": self.no_contract,
                "request_keys": dict(self.keys),
            }

    def close(self):
        self.http.shutdown()
        self.http.server_close()


def start(name, port=0):
    return Running(name, port)
