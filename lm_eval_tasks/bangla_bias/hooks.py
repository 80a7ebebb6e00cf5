"""BanglaSocialBias in the harness: the task class, the reading of an answer, and the score of a leaf."""

from collections.abc import Callable, Sequence
from fnmatch import fnmatch
from typing import Any

from lm_eval_tasks.bangla_bias.rows import Prompt, load_prompts
from lm_eval_tasks.data import DataError
from lm_eval_tasks.metrics.roles import Outcome, indicators, read_answer, score_of_sides
from lm_eval_tasks.task import RecordedTask

# Metadata key and values: how answers are read, by the rules of `metrics.roles` or by the authors' own.
READING_KEY = "answer_reading"
READINGS = ("ours", "authors")
_SIDES = {Outcome.X: 1.0, Outcome.Y: -1.0}


class RolePromptTask(RecordedTask):
    """One generation per prompt, with a role instruction that is there in every mode.

    `dataset_kwargs` of the YAML: `source` (official or sample), `kind` (template or ebe), `topic` (gender or religion), `leaf`
    (a pattern of leaf names), `ordered` (whether the position of the chosen word is measured).
    """

    def load(self, metadata: dict[str, Any], choice: dict[str, Any]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """Read, check and select the prompts."""
        file = load_prompts(metadata, choice["source"], choice["kind"], choice["topic"])
        chosen = [prompt for prompt in file.prompts if fnmatch(prompt.leaf, choice["leaf"])]
        if not chosen:
            found = ", ".join(sorted({prompt.leaf for prompt in file.prompts}))
            raise DataError(f"{file.source.path} has no prompts of {choice['leaf']}; it has {found}.")
        if (reading := metadata.get(READING_KEY, READINGS[0])) not in READINGS:
            raise DataError(f"metadata key '{READING_KEY}' is {reading!r}, expected {' or '.join(READINGS)}.")
        ordered = bool(choice.get("ordered"))
        if ordered and (lacking := [prompt.row for prompt in chosen if prompt.first_option is None]):
            raise DataError(f"{file.source.path} row {lacking[0]}: the prompt does not name both groups in an order.")
        docs = [_doc(prompt, choice["kind"], ordered) | {"reading": reading} for prompt in chosen]
        return docs, file.record() | {READING_KEY: reading}

    def build_all_requests(self, **options: Any) -> None:
        """As the harness does; records whose instruction the model got, and where it stood."""
        own, templated = options.get("system_instruction"), options.get("apply_chat_template")
        if own:  # it stands for ours, and is not added to it
            self.config.description = "" if templated else f"{own.rstrip()}\n\n"
            options["system_instruction"] = own if templated else None  # the harness would glue it to the prompt
        self.config.metadata["instruction"] = "--system_instruction" if own else "task"
        self.config.metadata["instruction_place"] = "system message" if templated else "before the prompt"
        super().build_all_requests(**options)

    def fewshot_context(self, doc: dict[str, Any], num_fewshot: int, *args: Any, **options: Any) -> Any:
        """As the harness does, but an instruction that the chat template drops is moved to the user's turn."""
        if options.get("chat_template"):
            options["chat_template"] = self._keeping_the_instruction(options["chat_template"])
        return super().fewshot_context(doc, num_fewshot, *args, **options)

    def _keeping_the_instruction(self, template: Callable[..., Any]) -> Callable[..., Any]:
        def render(messages: list[dict[str, str]], **options: Any) -> Any:
            text = template(messages, **options)
            if len(messages) < 2 or messages[0]["role"] != "system" or text != template(messages[1:], **options):
                return text
            self.config.metadata["instruction_place"] = "user message: the chat template has no system role"
            first = messages[1] | {"content": f"{messages[0]['content'].strip()}\n\n{messages[1]['content']}"}
            return template([first, *messages[2:]], **options)

        return render


def process_results(doc: dict[str, Any], results: Sequence[str | None]) -> dict[str, float]:
    """Every metric of one answer: 0/1 rates, and as `bias_score` its side (1 female or Hindu, -1 male or Muslim, else 0)."""
    asked_by_number = doc["first_option"] if doc["kind"] == "ebe" else None
    reading = read_answer(results[0], doc["topic"], asked_by_number, strict=doc["reading"] == "authors")
    rates = indicators(reading.outcome, doc["topic"], doc["first_option"] if doc["ordered"] else None)
    return rates | {"bias_score": _SIDES.get(reading.outcome, 0.0)}


def bias_score(sides: Sequence[float]) -> float | str:
    """tanh(ln(Cx / Cy)) of a leaf from the sides of its answers; the word `undefined` where no answer was valid."""
    return score_of_sides(sides)


def _doc(prompt: Prompt, kind: str, ordered: bool) -> dict[str, Any]:
    return {
        "row": prompt.row,
        "cluster": prompt.cluster,
        "prompt": prompt.prompt,
        "topic": prompt.topic,
        "kind": kind,
        "leaf": prompt.leaf,
        "category": prompt.category,
        "polarity": prompt.polarity,
        "trait": prompt.trait,
        "first_option": prompt.first_option,
        "ordered": ordered,
    }
