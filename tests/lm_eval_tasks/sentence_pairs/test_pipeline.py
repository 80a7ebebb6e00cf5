"""RuBia through the real pipeline: oracles, invariances, refusals, and what the results file records."""

import json
from pathlib import Path
from typing import Any

import pytest
from lm_eval.api.registry import register_model
from transformers import AutoTokenizer, T5Config, T5ForConditionalGeneration

from lm_eval_tasks import __version__
from lm_eval_tasks.data import RUBIA_COMMIT, RUBIA_SHA256, DataError, rubia_sample
from lm_eval_tasks.failures import BackendError
from lm_eval_tasks.metrics.runs.results import read_run
from lm_eval_tasks.metrics.runs.summary import score
from lm_eval_tasks.scripts.report import report
from lm_eval_tasks.scripts.run import run
from lm_eval_tasks.sentence_pairs.rows import read_pairs
from tests.conftest import ROWS, write_rows
from tests.support import tiny, two_processes
from tests.support.harness import METRICS, ScriptedLM, evaluate, logged_samples, manager, samples, scores, strict_json

PRO = {pair.pro_trope for pair in read_pairs(rubia_sample()).pairs}


class Oracle(ScriptedLM):
    """Answers by side; `tie` gives every token one nat, counted with the tokenizer in `model_args`."""

    def __init__(self, prefers: str, pretrained: str, **_: Any) -> None:
        tokenizer = AutoTokenizer.from_pretrained(pretrained)
        answers = {
            "pro": lambda text: -1.0 if text in PRO else -1e6,
            "anti": lambda text: -1e6 if text in PRO else -1.0,
            "tie": lambda text: -float(len(tokenizer.encode(text, add_special_tokens=False))),
        }
        super().__init__(answers[prefers])

    @classmethod
    def create_from_arg_obj(cls, arg_dict: dict[str, Any], additional_config: dict[str, Any] | None = None) -> "Oracle":
        return cls(**arg_dict)


register_model("oracle")(Oracle)


@pytest.mark.parametrize(
    ("prefers", "expected"),
    [("pro", (1.0, 1.0, 1.0, 0.0)), ("anti", (0.0, 0.0, 0.0, 0.0)), ("tie", (0.0, None, None, 1.0))],
)
def test_oracles_through_the_command_line(
    models: dict[str, Path], tmp_path: Path, prefers: str, expected: tuple[float | None, ...]
) -> None:
    arguments = ["--model", "oracle", "--model_args", f"prefers={prefers},pretrained={models['bpe_with_bos']}"]
    arguments += ["--tasks", "rubia_sample", "--output_path", str(tmp_path), "--log_samples"]
    assert run.main(arguments) == 0
    (file,) = tmp_path.rglob("results_*.json")
    results = strict_json(file)
    assert len(list(tmp_path.rglob("samples_*.jsonl"))) == 4
    for task in ("rubia_sample", *(f"rubia_sample_{d}" for d in ("gender", "class", "nationality", "diverse"))):
        for metric, value in zip(METRICS, expected, strict=True):
            if value is not None:
                assert results["results"][task][f"{metric},none"] == value
    assert {v for metrics in results["higher_is_better"].values() for v in metrics.values()} == {None}


def test_results_record_what_was_measured(models: dict[str, Path], official_folder: str) -> None:
    found = evaluate("rubia_class", {"pretrained": str(models["bpe_without_bos"])}, {"data": official_folder}, limit=2)
    metadata = found["configs"]["rubia_class_template_wealth"]["metadata"]
    expected = {
        "plugin_version": __version__,
        "version": 1.0,
        "data_origin": "local folder",
        "data_revision": RUBIA_COMMIT,
        "data_file_sha256": RUBIA_SHA256,
        "data_rows": 2221,
        "data_repeated_rows": 215,
        "data_dropped_rows": [2161],
        "first_token_convention": "context",
        "first_token_reason": "the tokenizer adds no special token",
        "first_token_prefix_id": None,
        "identical_token_pairs": 0,
        "unscorable_pairs": [],
    }
    assert {key: metadata[key] for key in expected} == expected


def test_a_pair_with_nothing_to_score_from_run_to_report(models: dict[str, Path], tmp_path: Path) -> None:
    rows = ROWS.replace("Ей нужен порядок", "Он")  # one token of this tokenizer
    metadata = {"data": str(tmp_path), "data_sha256": write_rows(tmp_path, rows)}
    arguments = ["--model", "hf", "--model_args", f"pretrained={models['bpe_without_bos']}", "--device", "cpu"]
    arguments += ["--tasks", "rubia_gender_freeform_generic", "--metadata", json.dumps(metadata)]
    assert run.main([*arguments, "--output_path", str(tmp_path / "out"), "--log_samples"]) == 0
    measured = read_run(tmp_path / "out")
    (leaf,) = measured.leaves.values()
    assert leaf.metadata["unscorable_pairs"] == [10]
    for metric in METRICS[:3]:
        found = score(measured, leaf.name, metric)
        assert found is not None
        assert (found.n_documents, found.n_tied, found.n_valid) == (3, 1, 3)
    assert report.main([str(tmp_path / "out"), "--output", str(tmp_path / "report")]) == 0
    page = (tmp_path / "report" / "report.html").read_text(encoding="utf-8")
    assert page.count('<bdi class="passage"') == 4  # the examples are of the two pairs that were decided


class TestGroups:
    def test_micro_average_without_the_experimental_subdomains(
        self, rows_folder: tuple[str, str], models: dict[str, Path]
    ) -> None:
        folder, digest = rows_folder
        with pytest.raises(DataError, match="no rows of domain gender, subdomain freeform_family_full"):
            evaluate("rubia_gender", {"pretrained": str(models["bpe_with_bos"])}, {"data": folder, "data_sha256": digest})

    def test_group_is_the_pooled_rate(self, models: dict[str, Path], official_folder: str) -> None:
        found = evaluate("rubia", {"pretrained": str(models["bpe_with_bos"])}, {"data": official_folder}, batch_size=32)
        sizes = {"rubia_gender": 944, "rubia_class": 278, "rubia_nationality": 332, "rubia_diverse": 346}
        pooled: dict[str, list[float]] = {name: [] for name in sizes}
        for task, logged in found["samples"].items():
            pooled["_".join(task.split("_")[:2])] += [sample["pct_stereotype"] for sample in logged]
        for name, size in sizes.items():
            assert len(pooled[name]) == size
            assert found["results"][name]["pct_stereotype,none"] == pytest.approx(sum(pooled[name]) / size)
        everything = [value for values in pooled.values() for value in values]
        assert found["results"]["rubia"]["pct_stereotype,none"] == pytest.approx(sum(everything) / 1900)
        assert found["results"]["rubia"]["sample_len"] == 1900


class TestInvariance:
    @pytest.fixture(scope="class")
    def plain(self, models: dict[str, Path]) -> list[tuple[Any, ...]]:
        return scores(evaluate("rubia_sample", {"pretrained": str(models["bpe_without_bos"])}, batch_size=4))

    @pytest.mark.parametrize("batch_size", [1, "auto"])
    def test_batch_size(self, models: dict[str, Path], plain: list[tuple[Any, ...]], batch_size: int | str) -> None:
        found = evaluate("rubia_sample", {"pretrained": str(models["bpe_without_bos"])}, batch_size=batch_size)
        assert scores(found) == plain

    def test_chat_template_system_instruction_and_fewshot(self, models: dict[str, Path], plain: list[tuple[Any, ...]]) -> None:
        found = evaluate(
            "rubia_sample",
            {"pretrained": str(models["bpe_without_bos"])},
            apply_chat_template=True,
            system_instruction="You are a fair assistant.",
            num_fewshot=3,
            fewshot_as_multiturn=True,
            batch_size=4,
        )
        assert AutoTokenizer.from_pretrained(models["bpe_without_bos"]).chat_template
        assert scores(found) == plain
        assert all(s["doc"]["pro_target"] in s["arguments"][0][1] for s in samples(found))

    def test_response_cache_gives_the_same_again(self, models: dict[str, Path], tmp_path: Path, plain: list[Any]) -> None:
        for _ in range(2):
            args = {"pretrained": str(models["bpe_without_bos"])}
            assert scores(evaluate("rubia_sample", args, use_cache=str(tmp_path / "cache"), batch_size=4)) == plain

    def test_request_cache_of_another_tokenizer_is_not_used(self, models: dict[str, Path], plain: list[Any]) -> None:
        evaluate("rubia_sample", {"pretrained": str(models["bpe_with_bos"])}, cache_requests=True)
        found = evaluate("rubia_sample", {"pretrained": str(models["bpe_without_bos"])}, cache_requests=True)
        assert scores(found) == plain

    def test_order_of_rows(self, models: dict[str, Path], tmp_path: Path) -> None:
        header, *rows = ROWS.replace("\nВсегда.", " Всегда.").rstrip().split("\n")
        found = []
        for name, order in (("forward", rows), ("backward", rows[::-1])):
            digest = write_rows(tmp_path / name, "\n".join((header, *order)) + "\n")
            metadata = {"data": str(tmp_path / name), "data_sha256": digest}
            args = {"pretrained": str(models["bpe_with_bos"])}
            logged = samples(evaluate("rubia_gender_freeform_generic", args, metadata))
            found.append({s["doc"]["pro_trope"]: [s[metric] for metric in METRICS] for s in logged})
        assert len(found[0]) == 3
        assert found[0] == found[1]

    def test_pairs_that_differ_in_the_last_token_only(self, models: dict[str, Path], tmp_path: Path) -> None:
        """Such requests share all tokens but the last, and the harness may serve several from one pass."""
        rows = [
            f"{i}\tПришла {a} и {b}\tПришла {a} и {c}\tgender\tfreeform_generic"
            for i, (a, b, c) in enumerate(
                [("мама", "она", "он"), ("дочь", "он", "она"), ("тётя", "я", "ты"), ("тётя", "ты", "я")]
            )
        ]
        digest = write_rows(tmp_path, "\n".join([ROWS.split("\n")[0], *rows]) + "\n")
        metadata = {"data": str(tmp_path), "data_sha256": digest}
        args = {"pretrained": str(models["bpe_without_bos"])}
        one, many = (samples(evaluate("rubia_gender_freeform_generic", args, metadata, batch_size=size)) for size in (1, 8))
        for first, second in zip(one, many, strict=True):
            for a, b in zip(first["filtered_resps"], second["filtered_resps"], strict=True):
                assert float(a[0]) == pytest.approx(float(b[0]), rel=1e-5)

    def test_two_processes(self, models: dict[str, Path], tmp_path: Path, plain: list[tuple[Any, ...]]) -> None:
        arguments = ["--model_args", f"pretrained={models['bpe_without_bos']}", "--output_path", tmp_path, "--log_samples"]
        two_processes.launch("run", "--model", "hf", "--batch_size", "4", "--tasks", "rubia_sample", *arguments)
        assert scores({"samples": logged_samples(tmp_path)}) == plain


class TestRefusals:
    def test_masked_model_under_a_causal_backend(self, tmp_path: Path) -> None:
        tiny.save_masked(tmp_path)
        with pytest.raises(DataError, match=r"is a masked language model \(bert\).*meaningless.*--model hf-mlm"):
            evaluate("rubia_sample", {"pretrained": str(tmp_path)})

    def test_encoder_decoder(self, models: dict[str, Path], tmp_path: Path) -> None:
        tokenizer = AutoTokenizer.from_pretrained(models["bpe_with_bos"])
        config = T5Config(vocab_size=len(tokenizer), d_model=8, d_kv=4, d_ff=8, num_layers=1, num_heads=2)
        T5ForConditionalGeneration(config).save_pretrained(tmp_path)
        tokenizer.save_pretrained(tmp_path)
        with pytest.raises(DataError, match=r"is an encoder-decoder model \(t5\).*decoder-only models"):
            evaluate("rubia_sample", {"pretrained": str(tmp_path)})

    def test_api_that_gets_text_instead_of_tokens(self, models: dict[str, Path]) -> None:
        metadata = {"model": "m", "tokenizer": str(models["bpe_with_bos"]), "base_url": "http://127.0.0.1:9"}
        for text in ({"tokenized_requests": False}, {"tokenizer_backend": None}, {"tokenizer_backend": "None"}):
            with pytest.raises(
                DataError, match="sends text to the API instead of tokens .* would shift which tokens are scored"
            ):
                manager(metadata | text).load(["rubia_sample_class"])

    def test_prefix_is_named_as_the_backend_names_it(self, models: dict[str, Path], tmp_path: Path) -> None:
        tokenizer = tiny.unigram_with_leading_special()
        tokenizer.bos_token = "<unk>"
        tokenizer.save_pretrained(tmp_path)
        for metadata, key in (
            ({"pretrained": str(tmp_path)}, "prefix_token_id"),
            ({"model": str(tmp_path)}, "custom_prefix_token_id"),
        ):
            with pytest.raises(DataError, match=f"add {key}=1 to --model_args"):
                manager(metadata).load(["rubia_sample_class"])
            other = {"prefix_token_id": 1, "custom_prefix_token_id": 1}
            del other[key]
            with pytest.raises(DataError, match=f"add {key}=1"):  # the other backend's name has no effect
                manager(metadata | other).load(["rubia_sample_class"])
            assert manager(metadata | {key: 1}).load(["rubia_sample_class"])["tasks"]

    def test_xlm_is_masked_unless_it_says_causal(self) -> None:
        from transformers import XLMConfig

        from lm_eval_tasks.model_args import check_architecture

        masked = XLMConfig(architectures=["XLMWithLMHeadModel"])
        with pytest.raises(DataError, match=r"is a masked language model \(xlm\)"):
            check_architecture({"pretrained": "x"}, masked)
        assert not check_architecture({"pretrained": "x"}, XLMConfig(causal=True, architectures=["XLMWithLMHeadModel"]))

    def test_no_tokenizer_named(self) -> None:
        with pytest.raises(DataError, match=r"the run names none.*--metadata '\{\"tokenizer\": \"NAME\"\}'"):
            manager().load(["rubia_sample"])

    def test_tokenizer_that_cannot_be_loaded(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match=r"cannot load a tokenizer from '.*' \(.*\) Name a folder.*--metadata"):
            manager({"model": str(tmp_path)}).load(["rubia_sample"])

    def test_sentence_longer_than_the_model(self, tmp_path: Path) -> None:
        tiny.save_causal(tmp_path, tiny.bpe_with_bos(), max_tokens=16)
        with pytest.raises(DataError, match=r"the sentence '.*' needs \d+ tokens, the model takes 16: .*max_length="):
            evaluate("rubia_sample", {"pretrained": str(tmp_path)})

    def test_more_processes_than_documents(self, models: dict[str, Path]) -> None:
        (task,) = manager({"pretrained": str(models["bpe_with_bos"])}).load(["rubia_sample_class"])["tasks"].values()
        with pytest.raises(ValueError, match="1 documents cannot be spread over 2 processes.*larger --limit"):
            task.build_all_requests(limit=1, rank=1, world_size=2)

    def test_backend_that_answers_no_number(self, models: dict[str, Path]) -> None:
        import lm_eval

        with pytest.raises(
            BackendError, match=r"rubia_sample_class: the backend's log-likelihood of .* is nan.*No score is made of it"
        ):
            lm_eval.simple_evaluate(
                model=ScriptedLM(lambda text: float("nan")),
                tasks=["rubia_sample_class"],
                task_manager=manager({"tokenizer": str(models["bpe_with_bos"])}),
            )


def test_every_task_loads_by_name(models: dict[str, Path], official_folder: str) -> None:
    tasks = manager({"pretrained": str(models["bpe_with_bos"]), "data": official_folder})
    for name in tasks.all_tasks:
        assert tasks.load([name])["tasks"]
