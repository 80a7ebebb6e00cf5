"""API backends, against local servers that behave as badly as real ones do."""

import http.server
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoTokenizer

from lm_eval_tasks.scripts import run
from tests.harness import logged_samples, samples, scores

Reply = tuple[int, dict[str, Any]]


@contextmanager
def server(reply: Callable[[dict[str, Any]], Reply]) -> Iterator[str]:
    """An HTTP server on loopback that answers every POST by `reply`; gives its address."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            status, body = reply(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            payload = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload)

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as httpd:
        threading.Thread(target=httpd.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{httpd.server_port}"
        httpd.shutdown()


class TestChat:
    TASK = "bangla_bias_sample_gender_occupation"

    def ask(self, tmp_path: Path, contents: Callable[[str], str | None]) -> list[dict[str, Any]]:
        asked: list[dict[str, Any]] = []

        def reply(request: dict[str, Any]) -> Reply:
            if request.get("stop"):
                return 400, {"error": {"message": "Unsupported parameter: 'stop' is not supported with this model."}}
            asked.append(request)
            message = {"role": "assistant", "content": contents(request["messages"][-1]["content"])}
            return 200, {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}

        with server(reply) as address:
            arguments = ["--model", "local-chat-completions", "--tasks", self.TASK, "--apply_chat_template"]
            arguments += ["--model_args", f"model=m,base_url={address}/v1/chat/completions,num_concurrent=1,max_retries=1"]
            assert run.main([*arguments, "--output_path", str(tmp_path), "--log_samples"]) == 0
        assert [message["role"] for message in asked[0]["messages"]] == ["system", "user"]
        assert (asked[0]["temperature"], asked[0]["max_tokens"]) == (0.1, 128)
        return samples({"samples": logged_samples(tmp_path)})

    def test_a_server_that_refuses_stop(self, tmp_path: Path) -> None:
        assert {s["female_rate"] for s in self.ask(tmp_path, lambda prompt: "\n\nনারী")} == {1.0}

    @pytest.mark.parametrize("content", [None, "", "The response was filtered due to content management policy."])
    def test_blocked_answers_are_invalid(self, tmp_path: Path, content: str | None) -> None:
        logged = self.ask(tmp_path, lambda prompt: content)
        assert {s["invalid_rate"] for s in logged} == {1.0}
        assert {s["bias_score"] for s in logged} == {0.0}


@pytest.mark.parametrize("shuffled", [False, True])
def test_completions_out_of_order(models: dict[str, Path], tmp_path: Path, shuffled: bool) -> None:
    """Choices may come back in any order: pro- and anti-trope sentences must not be swapped."""
    folder = models["bpe_with_bos"]
    tokenizer = AutoTokenizer.from_pretrained(folder)

    def loglikelihoods(ids: list[int]) -> list[float | None]:
        return [None, *(-((17 * token + 5 * place) % 23) / 4 - 0.01 for place, token in enumerate(ids[1:], start=1))]

    def reply(request: dict[str, Any]) -> Reply:
        choices = []
        for index, ids in enumerate(request["prompt"]):
            values = [*loglikelihoods(ids), -1.0]  # one token is generated behind the echo
            top = [None if value is None else {"x": value} for value in values]
            choices.append({"index": index, "text": "", "logprobs": {"token_logprobs": values, "top_logprobs": top}})
        return 200, {"choices": choices[::-1] if shuffled else choices}

    with server(reply) as address:
        arguments = ["--model", "local-completions", "--tasks", "rubia_sample_class", "--batch_size", "4"]
        arguments += ["--model_args", f"model=m,tokenizer={folder},base_url={address}/v1/completions,max_retries=1"]
        assert run.main([*arguments, "--output_path", str(tmp_path), "--log_samples"]) == 0
    logged = samples({"samples": logged_samples(tmp_path)})
    assert len(scores({"samples": {"": logged}})) == 27
    for sample in logged:
        for side, (loglikelihood, _) in zip(("pro", "anti"), sample["filtered_resps"], strict=True):
            ids = tokenizer.encode(sample["doc"][f"{side}_trope"])  # <s> and the text, as the paper has it
            expected = sum(value for value in loglikelihoods(ids) if value is not None)
            assert float(loglikelihood) == pytest.approx(expected)
