"""Any model that LiteLLM knows, and any OpenAI-compatible server through `base_url`.

For such a server the model is written `openai/NAME`. LiteLLM's HTTP clients are given this
project's wire, with its deadline, its limit and no redirects. The few providers that it reaches
by other libraries (AWS, Google's) are bounded in time alone.
"""

import os
import threading
import warnings

from pdbench.config.schema import Provider
from pdbench.core.secrets import hide
from pdbench.providers.base import (
    api_key,
    joined_texts,
    json_object,
    package_missing,
    part,
    troubles_told,
)
from pdbench.providers.openai import completion_text
from pdbench.providers.wire import Post, Trouble, exchange, late, within


class _Now(threading.local):
    """The call that this thread makes through LiteLLM, and what went wrong with it."""

    provider: Provider | None = None
    trouble: Trouble | None = None


_now = _Now()


class LiteLLMProvider:
    """Calls `litellm.completion`."""

    def __init__(self, provider: Provider) -> None:
        os.environ.setdefault(
            "LITELLM_LOCAL_MODEL_COST_MAP", "True"
        )  # no fetch at import
        try:
            import litellm
        except ImportError:
            raise package_missing("litellm") from None
        litellm.suppress_debug_info = True
        litellm.telemetry = False
        # What its own models of an answer think of odd ones is no word to the user.
        warnings.filterwarnings("ignore", category=UserWarning, module="pydantic")
        self._litellm, self._provider, self._key = litellm, provider, api_key(provider)
        if litellm.client_session is None:
            _rewire(litellm)

    def complete(
        self, *, system: str, prompt: str, temperature: float, max_tokens: int
    ) -> str:
        """One chat completion."""
        p = self._provider
        request = {
            "model": p.model,
            "messages": [
                {"role": "system", "content": system},
                {"role": "user", "content": prompt},
            ],
            "temperature": temperature,
            "max_tokens": max_tokens,
            "api_base": p.base_url,
            # A local server wants no key, LiteLLM wants some.
            "api_key": self._key or ("none" if p.base_url else None),
            "timeout": p.timeout_s,
            "max_retries": 0,
        }
        with troubles_told(p):
            try:
                content = within(p.timeout_s, lambda: self._content(request))
            except TimeoutError:
                raise late(p.timeout_s) from None
            if isinstance(content, list):
                content = joined_texts(content, "choices[0].message.content")
            return hide(
                part(content or "", str, "choices[0].message.content"), self._key
            )

    def _content(self, request: dict) -> object:
        _now.provider, _now.trouble = self._provider, None
        try:
            return self._litellm.completion(**request).choices[0].message.content
        except Exception as error:  # LiteLLM's errors have no common base of their own
            if _now.trouble:
                raise _now.trouble from None
            status = getattr(error, "status_code", None)
            raise Trouble(
                "LiteLLM could not make the call or read its answer"
                + (f" (status {status})" if status else "")
            ) from None


def _rewire(litellm) -> None:
    """Give LiteLLM's clients a transport that is `exchange`."""
    import httpx

    class Wire(httpx.BaseTransport):
        def handle_request(self, request: httpx.Request) -> httpx.Response:
            try:
                return httpx.Response(
                    200,
                    content=_exchanged(request),
                    request=request,
                    headers={"Content-Type": "application/json"},
                )
            except Trouble as trouble:
                _now.trouble = trouble
                raise httpx.ConnectError("told elsewhere", request=request) from None

    litellm.sync_transport = Wire()
    litellm.client_session = httpx.Client(
        transport=litellm.sync_transport, trust_env=False
    )


KEPT_BACK = {
    "host",
    "content-length",
    "connection",
    "accept",
    "accept-encoding",
    "content-type",
    "user-agent",
    "transfer-encoding",
}


def _exchanged(request) -> bytes:
    p = _now.provider
    headers = {
        name: value for name, value in request.headers.items() if name not in KEPT_BACK
    }
    seconds, retries = (p.timeout_s, p.connection_retries) if p else (60.0, 0)
    body = exchange(Post(str(request.url), headers, request.read(), seconds, retries))
    if request.url.path.endswith("/chat/completions"):
        completion_text(
            json_object(body)
        )  # in this project's words where it can't be read
    return body
