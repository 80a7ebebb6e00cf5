"""The authors' own files: every leaf and cluster counted, every prompt through the harness with scripted models."""

import csv
import re
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import lm_eval
import pytest

from lm_eval_tasks.bangla_bias.rows import Prompt, load_prompts
from lm_eval_tasks.bangla_bias.wording import nfc
from lm_eval_tasks.metrics.outcomes.roles import GROUPS
from lm_eval_tasks.metrics.runs.results import Run, read_run
from lm_eval_tasks.metrics.runs.summary import answers, score
from lm_eval_tasks.metrics.statistics.intervals import count_share, share_interval
from lm_eval_tasks.scripts.gate import gate
from lm_eval_tasks.scripts.report.records import Measured
from lm_eval_tasks.scripts.report.text import role_task
from lm_eval_tasks.scripts.report.words import word_tables
from lm_eval_tasks.scripts.run import run
from tests.lm_eval_tasks.bangla_bias.test_pipeline import Templated
from tests.support.harness import manager, samples, strict_json
from tests.support.scripted import MALE_OCCUPATIONS, ScriptedWriter

# Prompts, trait words and occupations of each leaf.
LEAVES = {
    "gender": {
        "personality_positive": (32, 16, 0),
        "personality_negative": (30, 15, 0),
        "personality_occupation_positive": (448, 16, 14),
        "personality_occupation_negative": (420, 15, 14),
        "outlook_positive": (16, 8, 0),
        "outlook_negative": (22, 11, 0),
        "outlook_occupation_positive": (224, 8, 14),
        "outlook_occupation_negative": (308, 11, 14),
        "communal_positive": (22, 11, 0),
        "communal_negative": (18, 9, 0),
        "communal_occupation_positive": (308, 11, 14),
        "communal_occupation_negative": (252, 9, 14),
        "occupation": (28, 0, 14),
    },
    "religion": {
        "outlook_positive": (6, 6, 0),
        "outlook_negative": (6, 6, 0),
        "outlook_occupation_positive": (84, 6, 14),
        "outlook_occupation_negative": (84, 6, 14),
        "ideology_positive": (13, 13, 0),
        "ideology_negative": (17, 17, 0),
        "ideology_occupation_positive": (182, 13, 14),
        "ideology_occupation_negative": (238, 17, 14),
        "occupation": (14, 0, 14),
    },
}
TOPICS = tuple(LEAVES)
N_LEAVES = {topic: len(leaves) for topic, leaves in LEAVES.items()}


def prompts(folder: str, kind: str, topic: Any) -> tuple[Prompt, ...]:
    return load_prompts({"data": folder}, "official", kind, topic).prompts


@pytest.mark.parametrize("topic", TOPICS)
class TestTemplates:
    def test_leaves_traits_and_occupations(self, official_folder: str, topic: str) -> None:
        by_leaf: dict[str, list[Prompt]] = defaultdict(list)
        for prompt in prompts(official_folder, "template", topic):
            by_leaf[prompt.leaf].append(prompt)
        counts = {
            leaf: (len(found), len({p.trait for p in found} - {""}), len({p.occupation for p in found} - {""}))
            for leaf, found in by_leaf.items()
        }
        assert counts == LEAVES[topic]
        for found in by_leaf.values():  # crossed, with nothing left out: every trait as often with every occupation
            assert len(set(Counter((p.trait, p.occupation) for p in found).values())) == 1

    def test_words_are_those_of_the_authors_list(self, official_folder: str, topic: str) -> None:
        """Every prompt holds, as a whole word, exactly one word of the list for its category, and it is the one found."""
        path = Path(official_folder) / "BanglaSocialBias" / "Data" / "AdjectiveWordsForBias.csv"
        listed: dict[tuple[str, str], set[str]] = defaultdict(set)
        with path.open(encoding="utf-8-sig", newline="") as file:
            for row in csv.DictReader(file):
                if row["Topic"].strip().lower() in (topic, ""):
                    key = row["Category"].split()[0].lower(), row["Subcategory"].partition(" ")[0].lower()
                    listed[key].add(nfc(row["Word"]).strip())
        for prompt in prompts(official_folder, "template", topic):
            words = re.findall("[ঀ-৿]+", nfc(prompt.prompt).partition('"')[2])
            expected = {prompt.trait} - {""}
            assert {word for word in words if word in listed[prompt.category, prompt.polarity]} - {""} == (
                expected or {prompt.occupation}
            )
            assert {word for word in words if word in listed["occupation", ""]} == {prompt.occupation} - {""}

    def test_orders_and_word_pairs(self, official_folder: str, topic: str) -> None:
        found = prompts(official_folder, "template", topic)
        firsts = Counter(prompt.first_option for prompt in found)
        pairs = Counter(prompt.word_pair for prompt in found)
        if topic == "gender":
            assert firsts == {"male": 1087, "female": 2128 - 1087}
            assert pairs == {nfc("মেয়ে/ছেলে"): 1064, "নারী/পুরুষ": 1064}
            assert len(found) - len({prompt.prompt for prompt in found}) == 15  # they stand in two leaves
        else:
            assert firsts == {"muslim": 361, "hindu": 644 - 361}
            assert pairs == {"হিন্দু/মুসলিম": 644}


@pytest.mark.parametrize(("topic", "n", "n_sentences"), [("gender", 2416, 2375), ("religion", 1535, 1535)])
def test_blanks(official_folder: str, topic: str, n: int, n_sentences: int) -> None:
    found = prompts(official_folder, "ebe", topic)
    assert (len(found), len({prompt.cluster for prompt in found})) == (n, n_sentences)
    assert {prompt.first_option for prompt in found} == set(GROUPS[topic])  # type: ignore[index]
    assert all(len(prompt.options) == 2 for prompt in found)


@pytest.fixture(scope="module")
def always_first(official_folder: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of all official prompts through the command line, by a model that always takes the first word or option."""
    folder = tmp_path_factory.mktemp("first")
    arguments = ["--model", "scripted-writer", "--model_args", "script=first", "--tasks", "bangla_bias", "--log_samples"]
    assert run.main([*arguments, "--metadata", f'{{"data": "{official_folder}"}}', "--output_path", str(folder)]) == 0
    return folder


class TestWholeRun:
    def test_every_task_and_its_position_effect(self, always_first: Path) -> None:
        (file,) = always_first.rglob("results_*.json")
        found = strict_json(file)
        names = {f"bangla_bias_{topic}_{leaf}" for topic, leaves in LEAVES.items() for leaf in leaves}
        names |= {"bangla_bias_ebe_gender", "bangla_bias_ebe_religion"}
        assert set(found["n-samples"]) == names
        assert len(names) == 13 + 9 + 2
        assert sum(n["effective"] for n in found["n-samples"].values()) == 2128 + 644 + 2416 + 1535
        for name in names:
            assert found["results"][name]["first_option_rate,none"] == 1.0, name
            assert found["results"][name]["invalid_rate,none"] == 0.0, name
        # The words stand in one order per prompt, drawn once: a model without any view of the groups does not score 0.
        # Gender, outlook negative: 14 of 22 with the female word first, (14² − 8²) / (14² + 8²). Religion: 2 of 6.
        scores = {name: found["results"][name]["bias_score,none"] for name in names}
        assert scores["bangla_bias_gender_outlook_negative"] == pytest.approx(132 / 260)
        assert scores["bangla_bias_religion_outlook_negative"] == pytest.approx((4 - 16) / (4 + 16))

    def test_evidence_is_read_and_scored(self, always_first: Path) -> None:
        found = read_run(always_first)
        assert len(found.leaves) == 24
        for name in found.leaves:
            made = score(found, name)
            assert made is not None
            assert made.first_option_share == 1.0
            assert made.n_valid == made.n_documents

    def test_clean_score_leaves_out_the_artefacts(self, always_first: Path) -> None:
        (file,) = always_first.rglob("results_*.json")
        results = strict_json(file)["results"]
        for topic in TOPICS:
            leaf = read_run(always_first).leaves[f"bangla_bias_ebe_{topic}"]
            kept = [document for document in leaf.documents if not document["doc"]["artefact"]]
            assert results[leaf.name]["n_clean,none"] == len(kept) < len(leaf.documents)


@pytest.mark.parametrize("templated", [False, True], ids=["plain", "chat template"])
@pytest.mark.parametrize(("side", "score_"), [("x", 1.0), ("y", -1.0)])
def test_scripted_models(official_folder: str, templated: bool, side: str, score_: float) -> None:
    lm = (Templated if templated else ScriptedWriter)(side)
    found = lm_eval.simple_evaluate(
        model=lm,
        tasks=["bangla_bias_gender_occupation", "bangla_bias_religion", "bangla_bias_ebe_religion"],
        task_manager=manager({"data": official_folder}),
        apply_chat_template=templated,
        bootstrap_iters=0,
        limit=60,
    )
    assert found is not None
    assert all(("<user>" in asked) == templated for asked, _ in lm.asked)
    for sample in samples(found):
        clean_or_template = not sample["doc"]["artefact"]
        if clean_or_template:
            assert sample["bias_score"] == score_, sample["doc"]["prompt"]


@pytest.fixture(scope="module")
def by_occupation(official_folder: str, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run by a model that means male (Muslim) for four occupations, and either for all others."""
    folder = tmp_path_factory.mktemp("occupation")
    arguments = ["--model", "scripted-writer", "--model_args", "script=by occupation", "--log_samples"]
    arguments += ["--tasks", "bangla_bias_gender,bangla_bias_religion"]
    assert run.main([*arguments, "--metadata", f'{{"data": "{official_folder}"}}', "--output_path", str(folder)]) == 0
    return read_run(folder)


def test_a_prompt_that_stands_in_two_leaves_counts_once(by_occupation: Run) -> None:
    leaves = [by_occupation.leaves[f"bangla_bias_gender_{name}_occupation_negative"] for name in ("personality", "outlook")]
    assert [answers([leaf], "bias_score").n_documents for leaf in leaves] == [420, 308]
    assert answers(leaves, "bias_score").n_documents == 420 + 308 - 15


class TestWhichWordsDriveTheScore:
    def test_two_kinds_of_clusters_know_less_than_one(self, by_occupation: Run) -> None:
        """The answers depend on the occupation: intervals that know of traits only are too short, and by much."""
        leaves = [leaf for name, leaf in by_occupation.leaves.items() if "_occupation_" in name]
        assert len(leaves) == 6 + 4
        for leaf in leaves:
            found = answers([leaf], "bias_score")
            both = share_interval(found.counts)
            traits_only = share_interval(count_share(found.hits, found.clusters))
            assert both is not None
            assert traits_only is not None
            assert both.high - both.low > 1.15 * (traits_only.high - traits_only.low), leaf.name

    def test_the_report_shows_the_occupations(self, by_occupation: Run) -> None:
        measured = [Measured.of("", by_occupation)]
        tasks = {name: known for name in by_occupation.leaves if (known := role_task(name)) and known.topic == "gender"}
        tables = {table.caption.partition(":")[0]: table for table in word_tables("gender", tasks, measured)}
        assert [len(tables[f"Traits, {polarity}"].rows) for polarity in ("positive", "negative")] == [35, 32]
        for words, n in (("positive traits", 70), ("negative traits", 70), ("no trait", 2)):
            table = tables[f"Occupations beside {words}"]
            assert len(table.rows) == 14
            values = {row.label: row.cells[0].value for row in table.rows}
            assert {values[occupation] for occupation in MALE_OCCUPATIONS} == {"−1.00"}
            if n > 2:  # two answers of a coin may agree
                male, either = table.rows[: len(MALE_OCCUPATIONS)], table.rows[len(MALE_OCCUPATIONS) :]
                assert {row.label for row in male} == set(MALE_OCCUPATIONS)
                assert {row.lang for row in male} == {"bn"}
                assert all(row.cells[0].value != "−1.00" for row in either)
                first, second = (int(part) for part in male[0].cells[0].lines[0].split(" : "))
                assert (first, second) in ((0, n), (0, n - 1))  # a prompt that stands in two leaves counts once


@pytest.mark.parametrize(("script", "code"), [("first", 0), ("x", 3)])
def test_starter_policy(
    official_folder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], script: str, code: int
) -> None:
    """A model that takes the first option passes the caps of fill-in-the-blank; one that always means one group does not."""
    arguments = ["--model", "scripted-writer", "--model_args", f"script={script}", "--tasks", "bangla_bias", "--log_samples"]
    metadata = f'{{"data": "{official_folder}"}}'
    assert run.main([*arguments, "--metadata", metadata, "--output_path", str(tmp_path / "run")]) == 0
    policy = Path(gate.__file__).with_name("starter_policy_bangla.yaml")
    assert gate.main(["--policy", str(policy), str(tmp_path / "run"), "--output", str(tmp_path / "gate")]) == code
    verdicts = {check["id"]: check["verdict"] for check in strict_json(tmp_path / "gate" / "gate.json")["checks"]}
    assert verdicts["bn-cap-gender"] == verdicts["bn-cap-religion"] == ("PASS" if code == 0 else "BREACH")
    assert sum(name.startswith("bn-traits") for name in verdicts) == 6 + 4
