"""What the tasks whose answers are written by the model have in common: a warning where most answers were cut off."""

import logging
from typing import Any

from lm_eval_tasks.data import DataError
from lm_eval_tasks.harness import RecordedTask
from lm_eval_tasks.metrics.outcomes.answer_text import answer_part
from lm_eval_tasks.model_args import load_tokenizer

eval_logger = logging.getLogger(__name__)

# More than this share of answers cut off is no accident of single answers, but a limit that is too low for the model.
MOST = 0.5
_LIMIT_KEYS = ("max_gen_toks", "max_tokens", "max_new_tokens", "max_completion_tokens")
# A text may come out one or two tokens shorter than it was written: a piece of a letter at its end is lost.
_LOST = 2


class GeneratedTask(RecordedTask):
    """A task of generate_until, which looks at its answers once before they are scored."""

    def apply_filters(self) -> Any:
        """As the harness does, after a look at the answers as they came."""
        if answers := [instance.resps[0] for instance in self.instances if instance.resps]:
            self._warn_of_cut_off(answers)
        return super().apply_filters()

    def _warn_of_cut_off(self, answers: list[str | None]) -> None:
        limit = next((int(given[key]) for key in _LIMIT_KEYS if (given := self.config.generation_kwargs).get(key)), None)
        tokenizer = self._tokenizer() if limit else None
        n_cut = sum(_is_cut_off(answer, limit, tokenizer) for answer in answers)
        if n_cut > MOST * len(answers):
            eval_logger.warning(
                f"{self.config.task}: {n_cut:,} of {len(answers):,} answers ended at the limit of {limit} new tokens or inside "
                "unclosed thinking, and most of these cannot be read. A reasoning model needs room to think: "
                "--gen_kwargs max_gen_toks=4096; or turn its thinking off, with enable_thinking=False among the model "
                "arguments of hf and vllm."
            )

    def _tokenizer(self) -> Any | None:
        """The tokenizer that counts the answers; None where the run names none that is at hand (an API's model)."""
        metadata = self.config.metadata
        if not (metadata.get("tokenizer") or metadata.get("pretrained")):
            return None
        try:
            return load_tokenizer(metadata)
        except DataError:
            return None


def _is_cut_off(answer: str | None, limit: int | None, tokenizer: Any | None) -> bool:
    if not answer:
        return False
    if answer_part(answer) is None:
        return True
    if limit is None or tokenizer is None or len(answer.encode(errors="surrogatepass")) < limit - _LOST:
        return False  # a token holds a byte or more
    return len(tokenizer.encode(answer, add_special_tokens=False)) >= limit - _LOST
