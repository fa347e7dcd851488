"""A server on this machine whose next-token probabilities are known: what is read of them can be
compared with what was planted.

    with Speaker(lambda prompt: {("Decision", ":", " [", "CO", "ORDINATE", "]"): .6, …}) as speaker:
        speaker.url, speaker.asked

`says(prompt)` gives replies cut into tokens, each with its probability; the distribution after a
text follows from those that begin with it. `gives`: what the server can do.
"""

import json
import math
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from common.preflight import SAYING

CAN = {"continue", "completions", "chat"}
FORM = re.compile(r"Decision: \[([^|\]]+)\|([^\]]+)\]")
CUT = {"COORDINATE": ("CO", "ORD", "INATE"), "PREEMPT": ("PRE", "EMPT"),
       "Option A": ("Option", " A"), "Option B": ("Option", " B")}
REST = .01  # of the probability, for words that nobody waits for
# What anybody says of rain, where it is asked how it can be read.
RAIN = {("Rain",): .6, ("It",): .4, ("The", " rain"): .5, ("The", " sky"): .5}


class Speaker:
    """`template`: the words around a message; `cools`: temperature changes what is told, as it
    must not; `silent`: so many sampled answers end at once and tell nothing; `extra`: fields of
    every message."""

    def __init__(self, says, gives=CAN, top=20, template="im", cools=False, silent=0, extra=None):
        self.says, self.gives, self.top = says, gives, top
        self.template, self.cools, self.extra = template, cools, extra or {}
        self.silent = silent
        self.asked = []
        speaker = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                self._send({"data": [{"id": "m"}]} if self.path.endswith("/models") else {})

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                speaker.asked.append(body)
                self._send(speaker.answer(self.path, body))

            def _send(self, data):
                content = json.dumps(data or {"error": {"code": 404}}).encode()
                self.send_response(data.get("status", 200) if data else 404)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    # -- what it answers ------------------------------------------------------------------------

    def answer(self, path, body):
        if "prompt" in body:
            return self._completion(body) if "completions" in self.gives else None
        messages, opening = body["messages"], ""
        rendered = "".join(f"<|{self.template}_start|>{one['role']}\n{one['content']}"
                           f"<|{self.template}_end|>\n" for one in messages)
        if body.get("continue_final_message") and "continue" in self.gives:
            opening = messages[-1]["content"]
            rendered = rendered.removesuffix(f"<|{self.template}_end|>\n")
        else:
            rendered += f"<|{self.template}_start|>assistant\n"
        tokens, tops = self._go_on(rendered, opening, body)
        content = [{"token": token, "logprob": top[token], "bytes": None, "top_logprobs": [
            {"token": name, "logprob": value} for name, value in top.items()]}
            for token, top in zip(tokens, tops, strict=True)]
        told = {"content": content} if body.get("logprobs") and "chat" in self.gives else None
        message = {"message": {"content": "".join(tokens), **self.extra}}
        return self._data(rendered, message, told, "length" if told else "stop")

    def _completion(self, body):
        opening = body["prompt"].rpartition("<|im_start|>assistant\n")[2]
        tokens, tops = self._go_on(body["prompt"], opening, body)
        told = {"tokens": tokens, "top_logprobs": tops, "token_logprobs": [
            top[token] for token, top in zip(tokens, tops, strict=True)]}
        return self._data(body["prompt"], {"text": "".join(tokens)}, told)

    def _data(self, rendered, choice, told, finish="length"):
        return {"id": "x", "model": "m", "choices": [choice | {
            "finish_reason": finish, "logprobs": told}],
            "usage": {"prompt_tokens": len(re.findall(
                rf"<\|{self.template}_\w+\|>|\w+|\S", rendered)),
                      "completion_tokens": 1}}

    def _go_on(self, rendered, text, body):
        tokens, tops = [], []
        if self.silent and body.get("temperature") == 1:
            self.silent -= 1
            return tokens, tops
        for _ in range(body.get("max_tokens") or 8):
            chances = self._next(rendered, text)
            if not chances:
                break
            if self.cools and body["temperature"] == 0:
                chances = {max(chances, key=chances.get): 1.0}
            top = sorted(chances, key=chances.get, reverse=True)[:min(
                self.top, body.get("top_logprobs") or body.get("logprobs") or 1)]
            tops.append({token: math.log(chances[token]) for token in top})
            tokens.append(top[0])
            text += top[0]
        return tokens, tops

    def _next(self, rendered, text):
        """{token: probability} after `text`, of the replies that begin with it."""
        chances, whole = {}, 0.0
        says = RAIN if SAYING[1]["content"] in rendered else self.says(rendered)
        for tokens, p in says.items():
            for at in range(len(tokens)):
                if "".join(tokens[:at]) == text:
                    chances[tokens[at]] = chances.get(tokens[at], 0.0) + p
                    whole += p
        return {token: p / whole for token, p in chances.items()}


def form(prompt):
    """The two labels in the order of the form; None where there is none."""
    found = FORM.findall(prompt)
    return found[-1] if found else None


def decides(share, mass=.98, opening=("Decision", ":", " **"), end="**", dressing=str):
    """A reader that gives the label of `share(prompt)`'s first-named act so much of `mass`: the
    cooperative act is told by its label and its line."""
    def says(prompt):
        labels = form(prompt)
        if labels is None:
            return RAIN
        p = share(prompt, labels)
        return {(*opening, *map(dressing, CUT[label]), end, "\n"): mass * q
                for label, q in zip(labels, (p, 1 - p), strict=True)} | {
            (*opening, "Well", ","): (1 - mass) * .6, ("Well", ","): (1 - mass) * .4}
    return says
