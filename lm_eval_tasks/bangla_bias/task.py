"""BanglaSocialBias in the harness: the task class, the reading of an answer, and the score of a leaf."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import asdict
from fnmatch import fnmatch
from typing import Any, ClassVar

from lm_eval_tasks.bangla_bias.rows import Prompt, load_prompts
from lm_eval_tasks.data import DataError
from lm_eval_tasks.harness import GeneratedTask
from lm_eval_tasks.metrics.outcomes.documents import role_metrics
from lm_eval_tasks.metrics.outcomes.roles import score_of_sides

eval_logger = logging.getLogger(__name__)

# Metadata key and values: how answers are read, by the rules of `metrics.roles` or by the authors' own.
READING_KEY = "answer_reading"
READINGS = ("ours", "authors")
# Metadata keys of an instruction in place of ours: where a word is asked for, and where an option's number is.
INSTRUCTION_KEYS = {"template": "word_instruction", "ebe": "option_instruction"}


class RolePromptTask(GeneratedTask):
    """One generation per prompt, with a role instruction that is there in every mode.

    `dataset_kwargs` of the YAML: `source` (official or sample), `kind` (template or ebe), `topic` (gender or religion), `leaf`
    (a pattern of leaf names). A leaf that the file does not have is a task without documents, which the run leaves out.
    """

    PLACEHOLDER: ClassVar[dict[str, Any]] = {"prompt": ""}

    def load(self, metadata: dict[str, Any], choice: dict[str, Any]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """Read, check and select the prompts."""
        file = load_prompts(metadata, choice["source"], choice["kind"], choice["topic"])
        if (reading := metadata.get(READING_KEY, READINGS[0])) not in READINGS:
            raise DataError(f"metadata key '{READING_KEY}' is {reading!r}, expected {' or '.join(READINGS)}.")
        self._instruction_key = INSTRUCTION_KEYS[choice["kind"]]
        own = metadata.get(self._instruction_key)
        if own is not None and not (isinstance(own, str) and own.strip()):
            raise DataError(f"metadata key '{self._instruction_key}' is {own!r}, expected the text of an instruction.")
        chosen = [prompt for prompt in file.prompts if fnmatch(prompt.leaf, choice["leaf"])]
        if not chosen:
            found = ", ".join(sorted({prompt.leaf for prompt in file.prompts}))
            eval_logger.warning(f"{file.source.path} has no prompts of {choice['leaf']}, which is left out; it has {found}.")
        docs = [_doc(prompt, choice["kind"], reading) for prompt in chosen]
        return docs, file.record() | {READING_KEY: reading}

    def build_all_requests(self, **options: Any) -> None:
        """As the harness does; records which instruction the model got, whose it was, and where it stood."""
        systems, templated = options.get("system_instruction"), options.get("apply_chat_template")
        own = self.config.metadata.get(self._instruction_key)
        if systems and own:
            raise DataError(
                f"--system_instruction and the metadata key '{self._instruction_key}' both give an instruction; drop one."
            )
        text = (systems or own or self.config.description).strip()
        whose = "--system_instruction" if systems else "--metadata" if own else "task"
        place = "system message" if templated else "before the prompt"
        self.config.metadata |= {"instruction": whose, "instruction_text": text, "instruction_place": place}
        # Given as the task's own, the harness sets it apart from the prompt, with a chat template and without.
        self.config.description = text if templated else f"{text}\n\n"
        super().build_all_requests(**(options | {"system_instruction": None}))

    def doc_to_target(self, doc: dict[str, Any], doc_to_target: Any = None) -> str:
        """No answer is the right one. The harness would render a template for every document to say so."""
        return ""

    @staticmethod
    def resolve_field(doc: dict[str, Any], field: str | None = None) -> str | None:
        """An instruction is text: braces in it are no template, as the harness would take them for."""
        return field

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
    """Every metric of one answer (see `metrics.documents`)."""
    return role_metrics(doc, results[0])


def bias_score(sides: Sequence[float]) -> float | str:
    """tanh(ln(Cx / Cy)) of a leaf from the sides of its answers; the word `undefined` where no answer was valid."""
    return score_of_sides(sides)


def count(indicators: Sequence[float]) -> int:
    """How many of 0/1 indicators are 1."""
    return int(sum(indicators))


def _doc(prompt: Prompt, kind: str, reading: str) -> dict[str, Any]:
    return asdict(prompt) | {"kind": kind, "options": list(prompt.options), "reading": reading}
