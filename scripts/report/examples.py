"""A few sentences and answers per task, for the folded part of the report: what the numbers were made of."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lm_eval_tasks.metrics.outcomes.pairs import Sentence
from lm_eval_tasks.metrics.runs.results import Document, Leaf
from lm_eval_tasks.metrics.runs.summary import Kind, kind_of
from lm_eval_tasks.scripts.report.records import Measured

PER_TASK = 3
_LONGEST = 600  # letters of one passage


@dataclass(frozen=True)
class Passage:
    """Text of the data or of a model: untrusted, in the language `lang`."""

    name: str
    lang: str
    text: str


@dataclass(frozen=True)
class Example:
    """One document of a task: its passages, and what was made of them."""

    passages: tuple[Passage, ...]
    outcome: str


@dataclass(frozen=True)
class ExampleGroup:
    """Examples of one task of one run."""

    key: str
    task: str
    choice: str
    examples: tuple[Example, ...]


_CHOICES: dict[Kind, str] = {
    "pairs": "the most decisive pairs",
    "roles": "first answers, invalid ones before others",
    "questions": "first answers, invalid ones before others",
}


def example_groups(runs: Sequence[Measured]) -> Iterator[ExampleGroup]:
    """Examples of every task of every run."""
    for run in runs:
        for name, leaf in sorted(run.run.leaves.items()):
            kind = kind_of(leaf)
            if kind is not None and leaf.documents:
                make = {"pairs": _pairs, "roles": _answers, "questions": _answers}[kind]
                yield ExampleGroup(run.key, name, _CHOICES[kind], tuple(make(leaf)))


def _pairs(leaf: Leaf) -> Iterator[Example]:
    scored = [document for document in leaf.documents if not document["doc"].get("undecided")]
    for document in sorted(scored, key=_distance, reverse=True)[:PER_TASK]:
        doc = document["doc"]
        preferred = "neither, a tie" if document["tie"] else "stereotypical" if document["pct_stereotype"] else "other"
        pro, anti = _sentences(document)
        yield Example(
            (Passage("stereotypical", "ru", _cut(doc["pro_trope"])), Passage("other", "ru", _cut(doc["anti_trope"]))),
            f"preferred: {preferred}; perplexities {pro.perplexity:.3g} and {anti.perplexity:.3g}",
        )


def _sentences(document: Document) -> tuple[Sentence, Sentence]:
    pro, anti = (_sentence(document, i, side) for i, side in enumerate(("pro", "anti")))
    return pro, anti


def _sentence(document: Document, index: int, side: str) -> Sentence:
    doc = document["doc"]
    # an edited file may hold half a surrogate pair, which is no reason to crash
    n_bytes = len(doc[f"{side}_trope"].encode(errors="surrogatepass"))
    return Sentence(float(document["filtered_resps"][index][0]), doc[f"{side}_n_tokens"], n_bytes)


def _distance(document: Document) -> float:
    """How far apart the two sentences are, in nats per token."""
    pro, anti = (one.loglikelihood / one.n_tokens for one in _sentences(document))
    return abs(pro - anti)


def _answers(leaf: Leaf) -> Iterator[Example]:
    return (answer_example(leaf, document) for document in _invalid_first(leaf))


def answer_example(leaf: Leaf, document: Document) -> Example:
    """One answer to a Bangla prompt or a question, with what it was an answer to."""
    doc = document["doc"]
    if kind_of(leaf) == "roles":
        passages = (Passage("prompt", "bn", _cut(doc["prompt"])), _answer(document, "bn"))
        return Example(passages, f"read as: {outcome_of(document)}")
    language = "ru" if "_ru_" in leaf.name else "en"
    sentences = Passage("stereotypical", "ru", _cut(doc["pro_trope"])), Passage("other", "ru", _cut(doc["anti_trope"]))
    outcome = f"read as: {outcome_of(document)}; correct: {doc['expected']}"
    return Example((*sentences, _answer(document, language)), outcome)


def _invalid_first(leaf: Leaf) -> list[Document]:
    return sorted(leaf.documents, key=lambda document: document["invalid_rate"] == 0)[:PER_TASK]


def outcome_of(document: Document) -> str:
    """The outcome whose 0/1 metric is one: `female`, `both`, `yes`, `invalid`, ..."""
    other = ("first_option_rate", "correct_rate")
    rates = [m for m in document["metrics"] if m.endswith("_rate") and m not in other]
    return next((m.removesuffix("_rate") for m in rates if document[m] == 1), "none")


def _answer(document: Document, lang: str) -> Passage:
    answer = document["filtered_resps"][0]
    if isinstance(answer, str) and answer.strip():
        return Passage("answer", lang, _cut(answer))
    return Passage("answer", "en", "(no text)")


def _cut(text: str) -> str:
    left_out = len(text) - _LONGEST
    return text if left_out <= 0 else f"{text[:_LONGEST]} … ({left_out:,} more letters)"
