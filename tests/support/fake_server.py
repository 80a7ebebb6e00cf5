"""A local API server with every misbehaviour of real ones that was met, by name."""

import http.server
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Reply = tuple[int, Any]  # status, and a body: JSON, or bytes as they stand
Entries = list[float | None]


@contextmanager
def server(reply: Callable[[dict[str, Any]], Reply]) -> Iterator[str]:
    """An HTTP server on loopback that answers every POST by `reply`; gives its address."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            status, body = reply(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            payload = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "text/html" if isinstance(body, bytes) else "application/json")
            self.send_header("Content-Length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload)

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as httpd:
        threading.Thread(target=httpd.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{httpd.server_port}"
        httpd.shutdown()


def loglikelihoods(ids: list[int]) -> Entries:
    """What the served model gives each token of a prompt after those before it; the first has nothing before it."""
    return [None, *(-((17 * token + 5 * place) % 23) / 4 - 0.01 for place, token in enumerate(ids[1:], start=1))]


def echoed(values: Entries) -> dict[str, Any]:
    """The `logprobs` of a completion that echoes its prompt."""
    return {"token_logprobs": values, "top_logprobs": [None if value is None else {"x": value} for value in values]}


# What becomes of the true entries (n of the prompt, one generated) under the name of a misbehaviour.
LOGPROBS: dict[str, Callable[[Entries], Any]] = {
    "as it should": echoed,
    "ignores echo": lambda values: echoed(values[-1:]),
    "n entries for n + 1 tokens": lambda values: echoed(values[:-1]),
    "first entry left out": lambda values: echoed(values[1:]),
    "moved by one": lambda values: echoed([*values[1:], -3.0]),
    "prompt cut by characters": lambda values: echoed(values[3:]),
    "cut short": lambda values: echoed(values[: len(values) // 2]),
    "null": lambda values: None,
    "of a chat": lambda values: {"content": [{"token": "x", "logprob": value} for value in values]},
    "entries null": lambda values: {"token_logprobs": None, "top_logprobs": None},
    "top null": lambda values: echoed(values) | {"top_logprobs": None},
    "inner null": lambda values: echoed([*values[:4], None, *values[5:]]),
    "not a number": lambda values: echoed([*values[:4], float("nan"), *values[5:]]),
    "positive": lambda values: echoed([*values[:4], 2.0, *values[5:]]),
    "all zero": lambda values: echoed([None, *(0.0 for _ in values[1:])]),
    "all equal": lambda values: echoed([None, *(-2.5 for _ in values[1:])]),
}

# Whole replies that are failures of a server, whatever was asked.
FAILURES: dict[str, Reply] = {
    "error with status 200": (200, {"error": {"message": "model overloaded", "code": 503}}),
    "no choices": (200, {"id": "x", "object": "chat.completion"}),
    "choices empty": (200, {"choices": []}),
    "choices null": (200, {"choices": None}),
    "error in the choice": (200, {"choices": [{"index": 0, "text": "", "message": {"content": ""}, "finish_reason": "error"}]}),
    "no index": (200, {"choices": [{"text": "", "message": {"content": ""}}]}),
    "a list": (200, []),
    "a page": (200, b"<html>Bad gateway</html>"),
    "status 500": (500, {"error": "out of memory"}),
}

MESSAGES: dict[str, Any] = {
    "no message": {"index": 0, "finish_reason": "stop"},
    "no content": {"index": 0, "message": {"role": "assistant"}, "finish_reason": "stop"},
    "content a list": {"index": 0, "message": {"content": [{"type": "text", "text": "1"}]}, "finish_reason": "stop"},
    "content a number": {"index": 0, "message": {"content": 1}, "finish_reason": "stop"},
}


class Server:
    """A server whose behaviour is a name, changed at will; remembers what it was asked.

    `after` is the number of requests that are answered as they should be before the misbehaviour begins.
    """

    def __init__(
        self, behaviour: str = "as it should", after: int = 0, answer: Callable[[str], str | None] | None = None
    ) -> None:
        self.behaviour, self.after = behaviour, after
        self.answer = answer or (lambda prompt: "নারী")
        self.asked: list[dict[str, Any]] = []

    def __call__(self, request: dict[str, Any]) -> Reply:
        self.asked.append(request)
        behaviour = self.behaviour if len(self.asked) > self.after else "as it should"
        if behaviour in FAILURES:
            return FAILURES[behaviour]
        if "messages" in request:
            message = {"role": "assistant", "content": self.answer(request["messages"][-1]["content"])}
            good = {"index": 0, "message": message, "finish_reason": "stop"}
            return 200, {"choices": [MESSAGES.get(behaviour, good)]}
        logprobs = LOGPROBS[behaviour]
        prompts = request["prompt"]
        return 200, {
            "choices": [
                {"index": index, "text": "", "logprobs": logprobs([*loglikelihoods(ids), -1.0])}
                for index, ids in enumerate(prompts)
            ]
        }
