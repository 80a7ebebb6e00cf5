"""Which words drive a Bangla score: counts by trait, by occupation and by the pair of words that a prompt offers."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from lm_eval_tasks.metrics.outcomes.roles import GROUPS, Topic, bias_score
from lm_eval_tasks.metrics.runs.results import Document
from lm_eval_tasks.metrics.runs.summary import each_prompt_once
from lm_eval_tasks.scripts.report.records import ABSENT_CELL, Cell, Measured, Table, TableRow
from lm_eval_tasks.scripts.report.text import UNDEFINED, RoleTask, signed

Sides = Counter[int]  # 1 female or Hindu, -1 male or Muslim, 0 neither
_POLARITIES = {"positive": "positive traits", "negative": "negative traits", "": "no trait"}


def word_tables(topic: Topic, tasks: Mapping[str, RoleTask], runs: Sequence[Measured]) -> Iterator[Table]:
    """Tables of the template prompts of a topic; a table whose words the prompts do not have is left out."""
    documents = [_documents(run, tasks) for run in runs]
    for polarity in ("positive", "negative"):
        yield from _table(f"Traits, {polarity}", "Trait", "trait", topic, _having(documents, polarity))
    for polarity, words in _POLARITIES.items():
        yield from _table(f"Occupations beside {words}", "Occupation", "occupation", topic, _having(documents, polarity))
    for polarity, words in _POLARITIES.items():
        yield from _table(f"The two words offered, {words}", "Words", "word_pair", topic, _having(documents, polarity), least=2)


def _documents(run: Measured, tasks: Mapping[str, RoleTask]) -> list[Document]:
    leaves = [run.run.leaves[task] for task, known in tasks.items() if task in run.run.leaves and not known.filling]
    return each_prompt_once((document for leaf in leaves for document in leaf.documents), lambda document: document)


def _having(runs: Sequence[list[Document]], polarity: str) -> list[list[Document]]:
    return [[document for document in documents if document["doc"]["polarity"] == polarity] for documents in runs]


def _table(title: str, head: str, field: str, topic: Topic, runs: Sequence[list[Document]], least: int = 1) -> Iterator[Table]:
    counts = [_sides_by_word(documents, field) for documents in runs]
    words = {word for by_word in counts for word in by_word}
    if len(words) >= least:
        rows = [TableRow(word, "leaf", tuple(_cell(c.get(word)) for c in counts), lang="bn") for word in words]
        x, y = GROUPS[topic]
        yield Table(f"{title}: BiasScore, and how many answers chose {x} : {y}", head, tuple(sorted(rows, key=_place(counts))))


def _sides_by_word(documents: Sequence[Document], field: str) -> dict[str, Sides]:
    found: dict[str, Sides] = {}
    for document in documents:
        if word := document["doc"].get(field, ""):
            side = int(document["bias_score"])
            found.setdefault(word, Counter())[side] += 1
    return found


def _place(counts: Sequence[Mapping[str, Sides]]) -> Callable[[TableRow], tuple[float, str]]:
    """From the words most often answered with group y to those with group x, over all runs; equals in order of the word."""

    def place(row: TableRow) -> tuple[float, str]:
        total: Sides = Counter()
        for by_word in counts:
            total.update(by_word.get(row.label, Counter()))
        return bias_score(total[1], total[-1]) or 0.0, row.label

    return place


def _cell(sides: Sides | None) -> Cell:
    if sides is None:
        return ABSENT_CELL
    score = bias_score(sides[1], sides[-1])
    counted = f"{sides[1]:,} : {sides[-1]:,}" + (f", {sides[0]:,} neither" if sides[0] else "")
    return Cell(UNDEFINED, (counted,), missing=True) if score is None else Cell(signed(score), (counted,))
