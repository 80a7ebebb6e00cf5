"""API backends, against local servers that behave as badly as real ones do."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoTokenizer

from lm_eval_tasks.metrics.runs.results import EvidenceError
from lm_eval_tasks.scripts.run import run
from lm_eval_tasks.scripts.shared.evidence import read
from tests.support.fake_server import FAILURES, LOGPROBS, MESSAGES, Reply, Server, echoed, loglikelihoods, server
from tests.support.harness import logged_samples, samples, scores, strict_json

PAIRS = "rubia_sample_class"
ROLES = "bangla_bias_sample_gender_occupation"
QUESTIONS = "rubia_sample_prompted_ru_1"
N_PROBED = 4  # requests for the known sentence


@pytest.fixture(autouse=True)
def _no_list_of_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    """The harness starts pip at the end of each run, to record the environment; that takes most of the time of these tests."""
    monkeypatch.setattr("torch.utils.collect_env.get_pretty_env_info", lambda: "")


class TestChat:
    def ask(self, tmp_path: Path, contents: Callable[[str], str | None]) -> list[dict[str, Any]]:
        asked: list[dict[str, Any]] = []

        def reply(request: dict[str, Any]) -> Reply:
            if request.get("stop"):
                return 400, {"error": {"message": "Unsupported parameter: 'stop' is not supported with this model."}}
            asked.append(request)
            message = {"role": "assistant", "content": contents(request["messages"][-1]["content"])}
            return 200, {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}

        with server(reply) as address:
            arguments = ["--model", "local-chat-completions", "--tasks", ROLES, "--apply_chat_template"]
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


@pytest.mark.parametrize("task", [ROLES, QUESTIONS])
def test_a_run_on_a_chat_api_is_evidence(tmp_path: Path, task: str) -> None:
    with server(Server(answer=lambda prompt: "нет")) as address:
        assert run.main([*chat(address, task=task), "--output_path", str(tmp_path), "--log_samples"]) == 0
    assert len(read(tmp_path).leaves[task].documents) == 4
    (path,) = tmp_path.rglob("samples_*.jsonl")
    path.write_text(path.read_text(encoding="utf-8").replace('{\\"role', '{ \\"role', 1), encoding="utf-8")
    with pytest.raises(EvidenceError, match="prompt_hash is not that"):
        read(tmp_path)


@pytest.mark.parametrize("shuffled", [False, True])
def test_completions_out_of_order(models: dict[str, Path], tmp_path: Path, shuffled: bool) -> None:
    """Choices may come back in any order: pro- and anti-trope sentences must not be swapped."""
    folder = models["bpe_with_bos"]
    tokenizer = AutoTokenizer.from_pretrained(folder)

    def reply(request: dict[str, Any]) -> Reply:
        choices = []
        for index, ids in enumerate(request["prompt"]):
            logprobs = echoed([*loglikelihoods(ids), -1.0])  # one token is generated behind the echo
            choices.append({"index": index, "text": "", "logprobs": logprobs})
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


def chat(
    address: str, *more: str, task: str = QUESTIONS, backend: str = "local-chat-completions", name: str = "m"
) -> list[str]:
    arguments = ["--model", backend, "--tasks", task, "--apply_chat_template", "--limit", "4"]
    return [*arguments, "--model_args", f"model={name},base_url={address}/v1/chat/completions,max_retries=1", *more]


def completions(address: str, folder: Path, *more: str, task: str = PAIRS) -> list[str]:
    arguments = ["--model", "local-completions", "--tasks", task, "--limit", "6"]
    return [*arguments, "--model_args", f"model=m,tokenizer={folder},base_url={address}/v1/completions,max_retries=1", *more]


def at_once(concurrent: int, arguments: list[str]) -> list[str]:
    return [f"{item},num_concurrent={concurrent}" if "base_url" in item else item for item in arguments]


class TestBeforeTheRun:
    """A server that does not keep to the contract of `echo` is refused before the first request of the run."""

    @pytest.mark.parametrize(
        ("behaviour", "said"),
        [
            (
                "ignores echo",
                r"has 1 entries for \d+ tokens sent and one generated, expected \d+ \(does the server ignore `echo`",
            ),
            ("n entries for n + 1 tokens", r"\(one is left out\)"),
            ("first entry left out", r"\(one is left out\)"),
            ("moved by one", r"whole and in parts: its first \d+ tokens have .* They stand beside other tokens than their own"),
            ("prompt cut by characters", r"logprobs\.token_logprobs has \d+ entries for \d+ tokens"),
            ("cut short", r"logprobs\.token_logprobs has \d+ entries for \d+ tokens"),
            ("null", "`logprobs` is null, expected log-probabilities of the echoed prompt"),
            ("of a chat", r"logprobs\.token_logprobs is null, expected a list"),
            ("entries null", r"logprobs\.token_logprobs is null, expected a list"),
            ("top null", r"logprobs\.top_logprobs is null, expected a list"),
            ("inner null", r"token_logprobs\[4\] is null, expected a finite number"),
            ("not a number", r"token_logprobs\[4\] is NaN, expected a finite number"),
            ("positive", r"token_logprobs\[4\] is 2\.0, expected a finite number of nats, at most 0"),
            ("all zero", r"all \d+ log-probabilities of the prompt are 0"),
            ("all equal", r"all log-probabilities are -2\.5"),
            ("error with status 200", "answers an error with status 200: .*model overloaded"),
            ("no choices", "the answer has no `choices`"),
            ("choices empty", "the answer has no `choices`"),
            ("choices null", "the answer has no `choices`"),
            ("no index", r"the choices are numbered \[None\], expected 0 to 0"),
            ("error in the choice", "`logprobs` is null"),
            ("a list", r"answers list in place of a JSON object: \[\]"),
            ("a page", "no usable answer"),
            ("status 500", "no usable answer .*HTTPError.*out of memory"),
        ],
    )
    def test_refused(
        self, models: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str], behaviour: str, said: str
    ) -> None:
        fake = Server(behaviour)
        with server(fake) as address:
            assert run.main(completions(address, models["bpe_with_bos"], "--output_path", str(tmp_path / "out"))) == 2
        error = capsys.readouterr().err
        assert re.search(f"lm-eval-bias run: {address}/v1/completions was asked for .* one known sentence .*{said}", error), (
            error
        )
        assert "Nothing was scored." in error
        assert len(fake.asked) <= N_PROBED  # the known sentence and its parts, and none of the run
        assert not list(tmp_path.rglob("*.json*"))

    def test_the_table_is_complete(self) -> None:
        tested = {case[0] for case in self.test_refused.pytestmark[0].args[1]}  # type: ignore[attr-defined]
        assert tested == (set(LOGPROBS) | set(FAILURES)) - {"as it should"}

    def test_nobody_there(self, models: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
        assert run.main(completions("http://127.0.0.1:9", models["bpe_with_bos"])) == 2
        assert "127.0.0.1:9/v1/completions was asked for" in capsys.readouterr().err

    def test_a_tokenizer_without_leading_special_token(self, models: dict[str, Path]) -> None:
        fake = Server()
        with server(fake) as address:
            assert run.main(completions(address, models["bpe_without_bos"])) == 0
        assert len(fake.asked) == N_PROBED + 12  # the known sentence, then both sentences of six pairs


class TestInMidRun:
    """A failure ends the run in an error, is not kept, and a second run asks only for what is missing."""

    @pytest.mark.parametrize(("behaviour", "concurrent"), [("cut short", 1), ("all zero", 3), ("inner null", 3)])
    def test_log_probabilities_that_begin_to_fail(
        self, models: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str], behaviour: str, concurrent: int
    ) -> None:
        fake = Server(behaviour, after=N_PROBED + 5)
        more = ["--output_path", str(tmp_path / "out"), "--log_samples", "--use_cache", str(tmp_path / "cache")]
        with server(fake) as address:
            arguments = at_once(concurrent, completions(address, models["bpe_with_bos"], *more))
            assert run.main(arguments) == 2
            assert "No failure was taken for an answer of the model" in capsys.readouterr().err
            assert not list(tmp_path.rglob("results*"))
            fake.behaviour, fake.asked = "as it should", []
            assert run.main(arguments) == 0
        # Answers that were on their way when another failed may be lost with it.
        assert N_PROBED + 12 - 5 <= len(fake.asked) < N_PROBED + 12 - 5 + concurrent
        logged = samples({"samples": logged_samples(tmp_path)})
        assert len(logged) == 6
        assert all(float(value) < 0 for sample in logged for value, _ in sample["filtered_resps"])

    @pytest.mark.parametrize("behaviour", sorted(FAILURES.keys() | MESSAGES.keys()))
    def test_failures_of_a_chat_server_are_no_answers(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str], behaviour: str
    ) -> None:
        with server(Server(behaviour, after=2)) as address:
            concurrent = 1 + len(behaviour) % 2
            assert run.main(at_once(concurrent, chat(address, "--output_path", str(tmp_path), "--log_samples"))) == 2
        assert f"lm-eval-bias run: {address}/v1/chat/completions: " in capsys.readouterr().err
        assert not list(tmp_path.rglob("results*"))

    @pytest.mark.parametrize(("behaviour", "concurrent"), [("no choices", 1), ("error with status 200", 2)])
    def test_failures_of_a_chat_server_are_not_kept(self, tmp_path: Path, behaviour: str, concurrent: int) -> None:
        fake = Server(behaviour, after=2, answer=lambda prompt: "да")
        more = ["--output_path", str(tmp_path / "out"), "--log_samples", "--use_cache", str(tmp_path / "cache")]
        with server(fake) as address:
            arguments = at_once(concurrent, chat(address, *more))
            assert run.main(arguments) == 2
            fake.behaviour, fake.asked = "as it should", []
            assert run.main(arguments) == 0
        assert 2 <= len(fake.asked) < 2 + concurrent
        assert {s["yes_rate"] for s in samples({"samples": logged_samples(tmp_path)})} == {1.0}

    def test_a_failure_that_passes_is_asked_again(self, tmp_path: Path) -> None:
        fake = Server("no choices", after=2, answer=lambda prompt: "да")

        def healed(request: dict[str, Any]) -> Reply:
            found = fake(request)
            fake.behaviour = "as it should" if len(fake.asked) > 2 else fake.behaviour
            return found

        with server(healed) as address:
            arguments = [item.replace("max_retries=1", "max_retries=2") for item in chat(address)]
            assert run.main([*arguments, "--output_path", str(tmp_path), "--log_samples"]) == 0
        assert len(fake.asked) == 5
        assert {s["yes_rate"] for s in samples({"samples": logged_samples(tmp_path)})} == {1.0}


class TestWhatIsSent:
    @pytest.fixture(autouse=True)
    def _key(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("OPENAI_API_KEY", "none")

    @pytest.mark.parametrize("name", ["gpt-3.5-turbo", "o1-mini", "o3", "o4-mini", "qwen2.5-7b"])
    def test_another_temperature_than_the_one_recorded(self, capsys: pytest.CaptureFixture[str], name: str) -> None:
        fake = Server()
        with server(fake) as address:
            assert run.main(chat(address, task=ROLES, backend="openai-chat-completions", name=name)) == 2
        assert fake.asked == []
        error = capsys.readouterr().err
        assert f"the harness would send temperature 1 in place of 0.1 to '{name}'" in error
        assert f"--model local-chat-completions --model_args model={name},base_url={address}/v1/chat/completions" in error
        assert "--gen_kwargs temperature=1" in error

    @pytest.mark.parametrize(
        ("backend", "more"),
        [("local-chat-completions", []), ("openai-chat-completions", ["--gen_kwargs", "temperature=1"])],
    )
    def test_both_ways_round_work(self, tmp_path: Path, backend: str, more: list[str]) -> None:
        fake = Server()
        with server(fake) as address:
            arguments = chat(address, *more, task=ROLES, backend=backend, name="gpt-3.5-turbo")
            assert run.main([*arguments, "--output_path", str(tmp_path), "--log_samples"]) == 0
        (file,) = tmp_path.rglob("results_*.json")
        recorded = strict_json(file)["configs"][ROLES]["generation_kwargs"]
        assert {request["temperature"] for request in fake.asked} == {recorded["temperature"]}
        lengths = {request.get("max_tokens", request.get("max_completion_tokens")) for request in fake.asked}
        assert lengths == {recorded["max_gen_toks"]}

    def test_more_stop_strings_than_are_sent(self, capsys: pytest.CaptureFixture[str]) -> None:
        fake = Server()
        with server(fake) as address:
            assert run.main(chat(address, "--gen_kwargs", '{"until": ["1", "2", "3", "4", "5"]}')) == 2
        assert "no stop string '5'" in capsys.readouterr().err
        assert fake.asked == []

    def test_a_prompt_that_would_be_cut(self, models: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
        fake = Server()
        with server(fake) as address:
            arguments = completions(address, models["bpe_with_bos"], task=QUESTIONS)
            assert run.main([item + ",max_length=64" if "base_url" in item else item for item in arguments]) == 2
        assert re.search(
            r"a prompt has \d+ tokens and the backend leaves room for 31, so its beginning", capsys.readouterr().err
        )
        assert fake.asked == []


def test_half_a_surrogate_pair_does_not_empty_the_samples_file(tmp_path: Path) -> None:
    with server(Server(answer=lambda prompt: "да \ud83d")) as address:
        assert run.main([*chat(address), "--output_path", str(tmp_path), "--log_samples"]) == 0
    logged = samples({"samples": logged_samples(tmp_path)})
    assert [sample["resps"] for sample in logged] == [[["да \ufffd"]]] * 4
    assert {sample["yes_rate"] for sample in logged} == {1.0}
