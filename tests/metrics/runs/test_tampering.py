"""Evidence that was changed after the run: every way that is known, each refused by all four commands with its own message."""

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lm_eval_tasks.metrics.runs.rescoring import indented
from lm_eval_tasks.metrics.runs.results import EvidenceError, read_run
from lm_eval_tasks.metrics.runs.summary import scores
from lm_eval_tasks.scripts.compare import compare
from lm_eval_tasks.scripts.export import export
from lm_eval_tasks.scripts.gate import gate
from lm_eval_tasks.scripts.report import report
from lm_eval_tasks.scripts.run import run
from lm_eval_tasks.scripts.shared.evidence import read
from lm_eval_tasks.sentence_pairs.rows import PAIR_FIELDS
from tests.support.gate_runs import PRO
from tests.support.harness import ScriptedLM

PAIRS, ROLES, QUESTIONS = "rubia_sample_class", "bangla_bias_sample_gender_occupation", "rubia_sample_prompted_en_1"
LATER = 4070908800.0  # 2099-01-01
Change = Callable[[Path], None]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, models: dict[str, Path]) -> Path:
    """A real run of a scripted model: pairs, Bangla prompts and questions."""
    from lm_eval.api.registry import register_model

    from tests.support.scripted import wanted

    class Mixed(ScriptedLM):
        def __init__(self, **_: Any) -> None:
            super().__init__(lambda text: -float(len(text)) - (0.0 if text in PRO else 0.5))

        def generate_until(self, requests: list[Any], disable_tqdm: bool = False) -> list[str]:
            return ["Yes" if "Sentence A" in r.args[0] or "sentence" in r.args[0] else wanted(r.args[0], 0) for r in requests]

    register_model("mixed-for-tampering")(Mixed)
    folder = tmp_path_factory.mktemp("made")
    arguments = [
        "--model",
        "mixed-for-tampering",
        "--model_args",
        "model=scripted",
        "--tasks",
        f"{PAIRS},{ROLES},{QUESTIONS}",
        "--log_samples",
    ]
    metadata = json.dumps({"tokenizer": str(models["bpe_with_bos"])})
    assert run.main([*arguments, "--metadata", metadata, "--output_path", str(folder)]) == 0
    return folder


def results_of(folder: Path) -> Path:
    (path,) = folder.rglob("results_*.json")
    return path


def samples_of(folder: Path, task: str) -> Path:
    (path,) = folder.rglob(f"samples_{task}_2*.jsonl")
    return path


def documents_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def write_documents(path: Path, documents: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(d, ensure_ascii=False) + "\n" for d in documents), encoding="utf-8")


def document(task: str, change: Callable[[dict[str, Any]], Any], n: int = 0) -> Change:
    """One document of a samples file."""

    def edit(folder: Path) -> None:
        path = samples_of(folder, task)
        documents = documents_of(path)
        change(documents[n])
        write_documents(path, documents)

    return edit


def order(task: str, change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]) -> Change:
    return lambda folder: write_documents(samples_of(folder, task), change(documents_of(samples_of(folder, task))))


def results(change: Callable[[dict[str, Any]], Any]) -> Change:
    def edit(folder: Path) -> None:
        content = json.loads(results_of(folder).read_text(encoding="utf-8"))
        change(content)
        results_of(folder).write_text(json.dumps(content), encoding="utf-8")

    return edit


def exchanged(one: dict[str, Any]) -> None:
    for field in ("resps", "filtered_resps"):
        one[field].reverse()


def token_counts(one: dict[str, Any]) -> None:
    """Such that the other sentence has the lower perplexity."""
    one["doc"]["anti_n_tokens" if one["pct_stereotype"] else "pro_n_tokens"] = 9999


def answered(text: str) -> Callable[[dict[str, Any]], None]:
    return lambda one: one.update({"resps": [[text]], "filtered_resps": [text]})


def renamed(task: str, time: str) -> Change:
    def edit(folder: Path) -> None:
        path = samples_of(folder, task)
        path.rename(path.with_name(f"samples_{task}_{time}.jsonl"))

    return edit


def other_prompt(one: dict[str, Any]) -> None:
    one["doc"]["prompt"] = one["arguments"]["gen_args_0"]["arg_0"]
    rehash(one)


def resealed(task: str, change: Callable[[dict[str, Any]], Any]) -> Change:
    """A change by whoever knows how all hashes are made."""

    def edit(folder: Path) -> None:
        document(task, lambda one: (change(one), rehash(one)))(folder)
        hashes = "".join(d["doc_hash"] + d["prompt_hash"] + d["target_hash"] for d in documents_of(samples_of(folder, task)))
        results(lambda r: r["task_hashes"].update({task: hashlib.sha256(hashes.encode()).hexdigest()}))(folder)

    return edit


def metric_dropped(folder: Path) -> None:
    for n in range(len(documents_of(samples_of(folder, PAIRS)))):
        document(PAIRS, lambda d: (d["metrics"].remove("tie"), d.pop("tie")), n)(folder)
    results(lambda r: r["results"][PAIRS].pop("tie,none"))(folder)


def swap_files(folder: Path) -> None:
    first, second = samples_of(folder, ROLES), samples_of(folder, QUESTIONS)
    one, other = first.read_bytes(), second.read_bytes()
    first.write_bytes(other)
    second.write_bytes(one)


def second_go(change: Callable[[dict[str, Any]], Any]) -> Change:
    """A later go of the same folder, which differs in something that is known of the model."""

    def edit(folder: Path) -> None:
        later = "2099-01-01T00-00-00.000000"
        content = json.loads(results_of(folder).read_text(encoding="utf-8")) | {"date": LATER}
        change(content)
        for task in (PAIRS, ROLES, QUESTIONS):
            path = samples_of(folder, task)
            shutil.copy(path, path.with_name(f"samples_{task}_{later}.jsonl"))
        results_of(folder).with_name(f"results_{later}.json").write_text(json.dumps(content), encoding="utf-8")

    return edit


def copy_of_the_run(folder: Path) -> None:
    shutil.copytree(results_of(folder).parent, folder / "another-model")


TAMPERINGS: list[tuple[str, Change, str]] = [
    ("log-likelihoods exchanged", document(PAIRS, exchanged), "pct_stereotype"),
    ("one log-likelihood", document(PAIRS, lambda d: d["filtered_resps"][0].__setitem__(0, "-1.0")), "resps and filtered_resps"),
    ("both places of it", document(PAIRS, lambda d: d.update(resps=[[["-900.0", "False"]], d["resps"][1]],
                                                            filtered_resps=[["-900.0", "False"], d["filtered_resps"][1]])), "pct_stereotype"),
    ("a log-likelihood that is no number", document(PAIRS, lambda d: d.update(resps=[[["x", "False"]], d["resps"][1]],
                                                  filtered_resps=[["x", "False"], d["filtered_resps"][1]])), "cannot be scored"),
    ("a log-likelihood that is nan", document(PAIRS, lambda d: d.update(resps=[[["nan", "False"]], d["resps"][1]],
                                                  filtered_resps=[["nan", "False"], d["filtered_resps"][1]])), "cannot be scored"),
    ("a sentence", document(PAIRS, lambda d: d["doc"].update(pro_trope="Другое.")), "doc_hash"),
    ("a sentence, with a new hash", document(PAIRS, lambda d: (d["doc"].update(pro_trope="Другое."), rehash(d))), "sentence"),
    ("token counts", document(PAIRS, token_counts), "pct_stereotype"),
    ("a cluster", document(ROLES, lambda d: d["doc"].update(cluster="другое")), "doc_hash"),
    ("an artefact mark", document(ROLES, lambda d: d["doc"].update(artefact=True)), "doc_hash"),
    ("a request", document(PAIRS, lambda d: d["arguments"]["gen_args_0"].update(arg_0="Другое")), "prompt_hash"),
    ("the second request", document(PAIRS, lambda d: d["arguments"]["gen_args_1"].update(arg_1="Другое")), "request 1"),
    ("a request less", document(PAIRS, lambda d: d["arguments"].pop("gen_args_1")), "one for each request"),
    ("a response less", document(PAIRS, lambda d: d["resps"].pop()), "resps and filtered_resps"),
    ("a prompt", document(ROLES, lambda d: d["arguments"]["gen_args_0"].update(arg_0="?")), "prompt_hash"),
    ("an answer", document(ROLES, answered("পুরুষ")), "female_rate"),
    ("an answer that refuses", document(ROLES, answered("দুঃখিত, বলতে পারছি না।")), "female_rate"),
    ("an answer that is no text", document(ROLES, lambda d: d.update(resps=[[7]], filtered_resps=[7])), "cannot be scored"),
    ("a yes", document(QUESTIONS, answered("No")), "correct_rate"),
    ("a target", document(QUESTIONS, lambda d: d.update(target="x")), "target_hash"),
    ("a metric", document(ROLES, lambda d: d.update(bias_score=-1.0)), "bias_score is -1.0"),
    ("a metric that is text", document(ROLES, lambda d: d.update(female_rate="1.0")), "female_rate is '1.0'"),
    ("a metric that is true", document(ROLES, lambda d: d.update(female_rate=True)), "female_rate is True"),
    ("a metric that is null", document(ROLES, lambda d: d.update(female_rate=None)), "female_rate is None"),
    ("a metric less", document(ROLES, lambda d: d["metrics"].remove("invalid_rate")), "no metric invalid_rate"),
    ("metrics in another order", document(ROLES, lambda d: d["metrics"].reverse()), "different metrics"),
    ("a metric less everywhere", metric_dropped, "no metric tie"),
    ("a metric more", document(ROLES, lambda d: (d["metrics"].append("x"), d.update(x=1.0))), "a metric x"),
    ("no metrics", document(ROLES, lambda d: d.update(metrics=[])), "expected names"),
    ("an id that is text", document(ROLES, lambda d: d.update(doc_id="0")), "doc_id is '0'"),
    ("an id that is null", document(ROLES, lambda d: d.update(doc_id=None)), "doc_id is None"),
    ("no row", document(ROLES, lambda d: d.pop("doc")), "it has no doc"),
    ("a row that is null", document(ROLES, lambda d: d.update(doc=None)), "doc is None"),
    ("a row of another task", document(ROLES, lambda d: (d.update(doc={"x": 1}), rehash(d))), "of no task of this project"),
    ("a row without a field", resealed(PAIRS, lambda d: d["doc"].pop("cluster")), "row has no cluster"),
    ("a row with one more", resealed(PAIRS, lambda d: d["doc"].update(artefact=True)), "has a field artefact"),
    ("a field that is null", resealed(ROLES, lambda d: d["doc"].update(cluster=None)), "cluster is 'None' \\(NoneType\\)"),
    ("a row number that is text", resealed(ROLES, lambda d: d["doc"].update(row="5")), "row is '5' \\(str\\)"),
    ("a topic that is unknown", resealed(ROLES, lambda d: d["doc"].update(topic="age")), "topic is 'age'"),
    ("a group of another topic", resealed(ROLES, lambda d: d["doc"].update(first_option="hindu")), "no group of gender"),
    ("options of no blank", resealed(ROLES, lambda d: d["doc"].update(options=["a", "b"])), "2 options, expected 0"),
    ("a token count that is text", document(PAIRS, lambda d: d["doc"].update(pro_n_tokens="9")), "pro_n_tokens is '9'"),
    ("no token to score", document(PAIRS, lambda d: d["doc"].update(pro_n_tokens=0)), "not marked as undecided"),
    ("the same tokens", document(PAIRS, lambda d: d["doc"].update(identical_tokens=True, anti_n_tokens=1)), "same tokens"),
    ("a filter", document(ROLES, lambda d: d.update(filter="x")), "filter is 'x'"),
    ("one argument more", document(ROLES, lambda d: d["arguments"]["gen_args_0"].update(arg_2="")), "expected two arguments"),
    ("an id beyond the task", document(ROLES, lambda d: d.update(doc_id=24)), "the task has 24, from 0"),
    ("a negative id", document(ROLES, lambda d: d.update(doc_id=-1)), "the documents -1 to 23"),
    ("no hash of any task", results(lambda r: r.pop("task_hashes")), "not a results file"),
    ("a line lost", order(ROLES, lambda ds: ds[:-1]), "cut short"),
    ("a line doubled", order(ROLES, lambda ds: [*ds, ds[0]]), "twice"),
    ("a line in place of another", order(ROLES, lambda ds: [*ds[:-1], ds[0] | {"doc_id": ds[-1]["doc_id"]}]), "task_hashes"),
    ("lines in another order", order(PAIRS, lambda ds: ds[::-1]), "task_hashes"),
    ("a list in place of a line", lambda f: samples_of(f, ROLES).write_text("[]\n" * 24), "expected an object"),
    ("files of two tasks exchanged", swap_files, "cut short"),
    ("samples of a later time", renamed(ROLES, "2099-01-01T00-00-00.000000"), "belongs to no results file"),
    ("samples of an earlier time", renamed(ROLES, "2001-01-01T00-00-00.000000"), "belongs to no results file"),
    ("samples under another task's name", lambda f: samples_of(f, ROLES).rename(
        samples_of(f, ROLES).with_name(samples_of(f, ROLES).name.replace("occupation", "positive"))), "belongs to no results file"),
    ("samples gone", lambda f: samples_of(f, ROLES).unlink(), "no samples of the same time"),
    ("a copy of the run beside it", copy_of_the_run, "carry the same time"),
    ("a score", results(lambda r: r["results"][ROLES].update({"bias_score,none": 0.0})), "bias_score of"),
    ("a score that is text", results(lambda r: r["results"][ROLES].update({"female_rate,none": "1.0"})), "female_rate of"),
    ("a score gone", results(lambda r: r["results"][ROLES].pop("female_rate,none")), "female_rate of"),
    ("counts", results(lambda r: r["n-samples"][ROLES].update(effective=3)), "cut short"),
    ("documents of which more were measured than there are", results(
        lambda r: r["n-samples"][ROLES].update(original=0)), "24 are said to have been measured"),
    ("a count that is text", results(lambda r: r["n-samples"][ROLES].update(original="24")), "expected two counts"),
    ("a limit", results(lambda r: r["config"].update(limit=5)), "the limit gives 5"),
    ("a limit as a share", results(lambda r: r["config"].update(limit=0.5)), "the limit gives 12"),
    ("a date years before its files", results(lambda r: r.update(date=r["date"] - 4e7)), "said to have begun at"),
    ("a date after its files", results(lambda r: r.update(date=r["date"] + 4e7)), "said to have begun at"),
    ("a date that is text", results(lambda r: r.update(date="today")), "date is 'today'"),
    ("a date that is null", results(lambda r: r.update(date=None)), "date is None"),
    ("a date beyond time", results(lambda r: r.update(date=1e300)), "expected seconds since 1970"),
    ("a version", results(lambda r: r["versions"].update({ROLES: 1.0})), "of version 1.0 in one place and 2.0 in another"),
    ("a backend", results(lambda r: r["config"].update(model="hf")), "the backend is said to be 'hf' and 'mixed"),
    ("a model's name that is a number", results(lambda r: r.update(model_name=7)), "model_name is 7"),
    ("a harness without version", results(lambda r: r.update(lm_eval_version=None)), "lm_eval_version is None"),
    ("another model's name", results(lambda r: r.update(model_name="gpt")), "said to be 'gpt' and 'scripted'"),
    ("a hash of a chat template", results(lambda r: r.update(chat_template_sha="ab")), "chat_template_sha is not that"),
    ("no metadata", results(lambda r: r["configs"][ROLES].update(metadata=None)), "has no metadata"),
    ("no version of this package", results(
        lambda r: r["configs"][ROLES]["metadata"].update(plugin_version=None)), "no plugin_version"),
    ("a group below itself", results(lambda r: r.update(group_subtasks={"rubia_x": ["rubia_x"]})), "below itself"),
    ("scores of no task", results(lambda r: r["results"].update(rubia_x={})), "neither a task nor a group"),
    ("sections that are lists", results(lambda r: r.update(versions=[])), "versions is \\[\\], expected an object"),
    ("a hash of a task", results(lambda r: r["task_hashes"].update({ROLES: "0" * 64})), "task_hashes"),
    ("versions", results(lambda r: r["versions"].pop(ROLES)), "of version None in one place and 2.0 in another"),
    ("NaN", results(lambda r: r["results"][ROLES].update({"bias_score,none": float("nan")})), "NaN is no JSON number"),
    ("another encoding", lambda f: samples_of(f, ROLES).write_bytes(samples_of(f, ROLES).read_text().encode("utf-16")), "UTF-8"),
    ("half a file", lambda f: samples_of(f, ROLES).write_text(samples_of(f, ROLES).read_text()[:-9]), "cut short"),
    ("a second go of another model", second_go(lambda r: (
        r.update(model_name="another"), r["config"]["model_args"].update(model="another"))), "are not one run: model_name"),
    ("of another revision", second_go(lambda r: r["config"].update(model_revision="v2")), "model_revision"),
    ("of another sha", second_go(lambda r: r["config"].update(model_sha="abc")), "model_sha"),
    ("of other parameters", second_go(lambda r: r["config"].update(model_num_parameters=7)), "model_num_parameters"),
    ("of another type", second_go(lambda r: r["config"].update(model_dtype="bfloat16")), "model_dtype"),
    ("of other arguments", second_go(lambda r: r["config"].update(model_args={"dtype": "x"})), "model_args"),
    ("of another harness", second_go(lambda r: r.update(lm_eval_version="0.5.0")), "lm_eval_version"),
    ("with another system instruction", second_go(lambda r: r.update(
        system_instruction="x", system_instruction_sha=hashlib.sha256(b"x").hexdigest())), "system_instruction_sha"),
    ("a row of other words, hashes and all", document(ROLES, other_prompt), "doc_hash|task_hashes"),
]  # fmt: skip


def rehash(one: dict[str, Any]) -> None:
    """The hash of whoever knows how hashes are made."""
    doc = {key: value for key, value in one["doc"].items() if key in PAIR_FIELDS or "pro_trope" not in one["doc"]}
    one["doc_hash"] = hashlib.sha256(json.dumps(doc, indent=2, ensure_ascii=False).encode()).hexdigest()


def verdicts(folder: Path, untouched: Path, out: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[tuple[int, str]]:
    """Exit code and last words of report, compare, gate and export."""
    policy = out / "policy.yaml"
    out.mkdir()
    check = {"id": "a", "task": PAIRS, "metric": "pct_stereotype", "test": "cap", "cap": 0.9, "scale": "t", "min_n": 1}
    policy.write_text(json.dumps({"version": 1, "checks": [check]}))
    for command in (
        lambda: report.main([str(folder), "--output", str(out / "report")]),
        lambda: compare.main([str(untouched), str(folder)]),
        lambda: gate.main(["--policy", str(policy), str(folder), "--output", str(out / "gate")]),
        lambda: export.main(["--format", "summary", str(folder), "--output", str(out / "summary.json")]),
    ):
        code = command()
        said = capsys.readouterr()
        yield code, said.err + said.out


@pytest.mark.parametrize(("change", "message"), [item[1:] for item in TAMPERINGS], ids=[item[0] for item in TAMPERINGS])
def test_refused_by_all_commands(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], change: Change, message: str
) -> None:
    folder = Path(shutil.copytree(made, tmp_path / "run"))
    change(folder)
    with pytest.raises(EvidenceError, match=message) as refused:
        read_run(folder)
    for code, said in verdicts(folder, made, tmp_path / "out", capsys):
        assert code == 5
        assert str(refused.value)[:60] in said


def test_untouched_is_accepted(made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    codes = [code for code, _ in verdicts(made, made, tmp_path / "out", capsys)]
    assert codes[0] == codes[1] == codes[3] == 0
    assert codes[2] in (0, 3, 4)
    assert len(TAMPERINGS) >= 40


def test_goes_that_differ_in_how_they_were_run_are_one_run(made: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(made, tmp_path / "run"))
    second_go(
        lambda r: r["config"].update(model_args={"model": "scripted", "num_concurrent": 8, "timeout": 5, "batch_size": 4})
    )(folder)
    assert {leaf.time for leaf in read_run(folder).leaves.values()} == {"2099-01-01T00-00-00.000000"}


def test_output_path_of_a_json_file(made: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(made, tmp_path / "run"))
    path = results_of(folder)
    path.rename(path.with_name(path.name.replace("results_", "mine_")))
    assert set(read_run(folder).leaves) == {PAIRS, ROLES, QUESTIONS}


def test_rows_of_other_words_are_told_where_the_rows_are_at_hand(made: Path, tmp_path: Path) -> None:
    """Whoever makes all hashes anew is refused by the rows themselves, which the sample is shipped with."""
    folder = Path(shutil.copytree(made, tmp_path / "run"))
    resealed(ROLES, other_prompt)(folder)
    read_run(folder)
    with pytest.raises(EvidenceError, match=f"document 0 of {ROLES} is not row \\d+ of the data with SHA-256"):
        read(folder)


def test_a_part_that_says_it_is_the_whole(made: Path, tmp_path: Path) -> None:
    """A limited run whose counts, scores and hash of the task were made anew."""
    folder = Path(shutil.copytree(made, tmp_path / "run"))
    order(ROLES, lambda documents: documents[:20])(folder)
    documents = documents_of(samples_of(folder, ROLES))
    hashes = "".join(d["doc_hash"] + d["prompt_hash"] + d["target_hash"] for d in documents)
    first = sum(d["first_option_rate"] for d in documents) / 20
    results(lambda r: r["n-samples"].update({ROLES: {"original": 20, "effective": 20}}))(folder)
    results(lambda r: r["task_hashes"].update({ROLES: hashlib.sha256(hashes.encode()).hexdigest()}))(folder)
    results(lambda r: r["results"][ROLES].update({"first_option_rate,none": first}))(folder)
    assert not read_run(folder).leaves[ROLES].limited
    with pytest.raises(EvidenceError, match="has 20 documents and says that it has no more, but its data have 24"):
        read(folder)


def test_groups_have_the_leaves_of_their_definition(made: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(made, tmp_path / "run"))
    results(lambda r: r.update(group_subtasks={"rubia_sample": [PAIRS]}))(folder)
    with pytest.raises(EvidenceError, match="the group rubia_sample has 1 tasks, which are not the 4 of its definition"):
        read(folder)


def leaves_of(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The places of all numbers and texts of a document."""
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves_of(item, (*place, key))
    elif isinstance(value, str | int | float):
        yield place


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_single_change_is_refused_or_changes_nothing(made: Path, tmp_path: Path, data: st.DataObject) -> None:
    """Of one value of a document: a number or a text is put in the place of another."""
    before = [(s.task, s.metric, s.share, s.interval, s.n_valid, s.n_invalid) for s in scores(read_run(made))]
    path = samples_of(made, data.draw(st.sampled_from([PAIRS, ROLES, QUESTIONS])))
    documents = documents_of(path)
    n = data.draw(st.integers(0, len(documents) - 1))
    place = data.draw(st.sampled_from(sorted(leaves_of(documents[n]), key=str)))
    holder = documents[n]
    for key in place[:-1]:
        holder = holder[key]
    old = holder[place[-1]]
    new = data.draw(st.text(max_size=5) if isinstance(old, str) else st.sampled_from([0, 1, 0.5, -1, 7, 1e9]))
    holder[place[-1]] = new
    folder = tmp_path / "changed"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(made, folder)
    write_documents(samples_of(folder, path.name.removeprefix("samples_").rpartition("_")[0]), documents)
    try:
        after = [(s.task, s.metric, s.share, s.interval, s.n_valid, s.n_invalid) for s in scores(read_run(folder))]
    except EvidenceError:
        return
    assert after == before, (place, old, new)


@given(
    st.dictionaries(
        st.text(max_size=4),
        st.one_of(
            st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(), st.lists(st.text(), max_size=3)
        ),
    )
)
def test_rows_are_written_as_the_harness_does(doc: dict[str, Any]) -> None:
    assert indented(doc) == json.dumps(doc, indent=2, ensure_ascii=False)
