"""`hf-mlm`: masked language models in lm-evaluation-harness, scored by pseudo-log-likelihood (see `pll`).

    lm_eval --model hf-mlm --model_args pretrained=NAME,pll=within_word_l2r --batch_size auto ...

A request is a whole sentence: an empty context and the sentence as continuation. Its answer is the sum of the
log-probabilities of its text tokens, in nats, and False (nothing is decoded greedily).
"""

import logging
import weakref
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from typing import Any, NoReturn

import numpy as np
import torch
from accelerate import Accelerator, InitProcessGroupKwargs
from lm_eval.api.instance import Instance
from lm_eval.api.model import LM
from lm_eval.api.registry import register_model
from numpy.typing import NDArray
from tqdm import tqdm  # type: ignore[import-untyped]
from transformers import PreTrainedModel

from lm_eval_tasks.models.mlm_forward import MaskedForward
from lm_eval_tasks.models.mlm_loading import (
    length_limit,
    load_model,
    load_tokenizer,
    refuse_other_kinds,
    refuse_without_head,
)
from lm_eval_tasks.models.mlm_tokens import SentenceEncoder
from lm_eval_tasks.models.pll import PLL, PLL_CHOICES, Batch, Sentence, batch_shape, score_sentences

log = logging.getLogger(__name__)

live_models: "weakref.WeakSet[HFMaskedLM]" = weakref.WeakSet()


def is_live(pretrained: object) -> bool:
    """Whether an `hf-mlm` backend in this process holds the model of that name (or that very object)."""
    return any(held.pretrained is pretrained or held.pretrained == pretrained for held in live_models)


@register_model("hf-mlm")
class HFMaskedLM(LM):  # type: ignore[misc]
    """Any `AutoModelForMaskedLM`; arguments mean what they mean for the harness's `hf` backend.

    Args:
        pretrained: name or folder of the model, or a loaded model.
        pll: `original` or `within_word_l2r`.
        tokenizer, revision, subfolder, trust_remote_code, use_fast_tokenizer, peft: as for `hf`.
        dtype: float32 by default, so that scores do not depend on the batch; bfloat16, float16 or auto.
        device: as for torch; a GPU where there is one. Under `accelerate launch` the process's own.
        batch_size: masked copies per forward pass, or `auto`: as many as fit in a budget of tokens and logits.
        max_batch_size: most masked copies per forward pass with `auto`.
        max_length: longest sentence in tokens, special tokens included; never more than the model takes.
        options: passed to `from_pretrained`, for example `attn_implementation`.
    """

    def __init__(
        self,
        pretrained: str | PreTrainedModel,
        pll: PLL = "original",
        tokenizer: Any = None,
        revision: str | None = "main",
        subfolder: str = "",
        dtype: str | torch.dtype | None = "float32",
        device: str | None = None,
        batch_size: int | str = "auto",
        max_batch_size: int | None = None,
        max_length: int | None = None,
        trust_remote_code: bool = False,
        use_fast_tokenizer: bool = True,
        peft: str | None = None,
        **options: Any,
    ) -> None:
        super().__init__()
        if pll not in PLL_CHOICES:
            raise ValueError(f"pll is {pll!r}, expected one of {', '.join(PLL_CHOICES)}")
        self.pretrained, self.pll, self.revision = pretrained, pll, str(revision)
        source = {"revision": self.revision, "subfolder": subfolder, "trust_remote_code": bool(trust_remote_code)}
        if isinstance(pretrained, str):
            self.accelerator = Accelerator(kwargs_handlers=[InitProcessGroupKwargs(timeout=timedelta(weeks=52))])
            self._rank, self._world_size = self.accelerator.process_index, self.accelerator.num_processes
            self._device = self.accelerator.device if self._world_size > 1 else _device(device)
            self.model = load_model(pretrained, dtype=dtype, peft=peft, source=source, options=options).to(self._device)
        else:
            refuse_other_kinds(pretrained.config, type(pretrained).__name__)
            refuse_without_head(pretrained)
            self.model, self._device = pretrained.eval(), pretrained.device
        self.config = self.model.config
        self.tokenizer = load_tokenizer(tokenizer, pretrained, use_fast=bool(use_fast_tokenizer), source=source)
        self.max_length = length_limit(self.model, self.tokenizer, max_length)
        vocab_size = self.config.get_text_config().vocab_size
        self._encoder = SentenceEncoder(
            self.tokenizer, limit=self.max_length, vocab_size=vocab_size, words=pll == "within_word_l2r"
        )
        self._shape = batch_shape(batch_size, max_batch_size, vocab_size, self._device.type)
        if self._shape.copies == 1:
            log.warning("hf-mlm: batch_size=1 is one masked copy at a time; --batch_size auto is several times faster")
        self._forward = MaskedForward(self.model, self._device)
        self._forward.check_shortcut(self._probe())
        live_models.add(self)

    def loglikelihood(self, requests: list[Instance], disable_tqdm: bool = False) -> list[tuple[float, bool]]:
        """Pseudo-log-likelihood of each sentence; equal token sequences are scored once."""
        texts = [_sentence(request) for request in requests]
        asked: defaultdict[Sentence, list[int]] = defaultdict(list)
        for index, sentence in enumerate(self._encoder.encode(texts)):
            asked[sentence].append(index)
        sentences, results = list(asked), np.full(len(texts), np.nan)
        n_copies = sum(map(self._encoder.n_text_tokens, sentences))
        silent = disable_tqdm or self.rank != 0
        with tqdm(total=n_copies, desc="Scoring masked copies", disable=silent) as bar:
            for unique, value in self._scores(sentences, bar.update):
                indices = asked[sentences[unique]]
                if not np.isfinite(value):
                    raise ValueError(
                        f"the model gives {value} as log-probability of {texts[indices[0]]!r}; no score is made of it. "
                        f"Weights of type {self.model.dtype} may overflow: try dtype=float32."
                    )
                results[indices] = value
                for index in indices:
                    self.cache_hook.add_partial("loglikelihood", requests[index].args, (value, False))
        return [(float(value), False) for value in results]

    def loglikelihood_rolling(self, requests: list[Instance], disable_tqdm: bool = False) -> NoReturn:
        """Not defined for a masked model."""
        raise NotImplementedError(
            "hf-mlm has no rolling log-likelihood: a masked model does not read a text from left to right. Run tasks "
            "of whole sentences (output_type loglikelihood), or use a causal model with --model hf."
        )

    def generate_until(self, requests: list[Instance], disable_tqdm: bool = False) -> NoReturn:
        """Not defined for a masked model."""
        raise NotImplementedError(
            "hf-mlm cannot generate text: run tasks that score sentences, such as rubia. Tasks that ask for an answer "
            "(bangla_bias, rubia_prompted) need a generative model, --model hf or vllm."
        )

    def apply_chat_template(self, chat_history: list[dict[str, str]], add_generation_prompt: bool = True) -> NoReturn:
        """Not defined for a masked model."""
        raise NotImplementedError("hf-mlm scores raw sentences: run without --apply_chat_template")

    @property
    def tokenizer_name(self) -> str:
        """Name that keys the harness's request cache."""
        return str(self.tokenizer.name_or_path).replace("/", "__")

    @property
    def batch_size(self) -> int | str:
        """Masked copies per forward pass, or `auto`."""
        return "auto" if self._shape.copies is None else self._shape.copies

    def all_gather(self, tensor: torch.Tensor) -> torch.Tensor:
        """Tensors of all processes."""
        return tensor if self.world_size == 1 else self.accelerator.gather(tensor)

    def gather_object(self, obj: Any, dst: int = 0) -> list[Any] | None:
        """Objects of all processes on `dst`, None elsewhere."""
        if self.world_size == 1:
            return [obj]
        gathered = [None] * self.world_size if self.rank == dst else None
        torch.distributed.gather_object(obj, gathered, dst=dst)
        return gathered

    def barrier(self) -> None:
        """Wait for all processes."""
        if self.world_size > 1:
            self.accelerator.wait_for_everyone()

    def get_model_info(self) -> dict[str, Any]:
        """What the harness records of the model in its results file."""
        return {
            "model_num_parameters": self.model.num_parameters(),
            "model_dtype": str(self.model.dtype),
            "model_revision": self.revision,
            "model_sha": getattr(self.config, "_commit_hash", None) or "",
            "pll": self.pll,
            "max_length": self.max_length,
        }

    def _scores(self, sentences: Sequence[Sentence], advance: Callable[[int], object]) -> Iterator[tuple[int, float]]:
        encoder = self._encoder
        return score_sentences(
            sentences,
            self._logprobs,
            self._shape,
            n_prefix=len(encoder.prefix),
            n_suffix=len(encoder.suffix),
            mask_id=encoder.mask_id,
            advance=advance,
        )

    def _logprobs(self, batch: Batch) -> NDArray[np.float64]:
        """Log-probabilities of a batch, in halves where the device has no room for it in one."""
        try:
            return self._forward.logprobs(batch)
        except torch.OutOfMemoryError:
            half = len(batch.ids) // 2
            if half == 0:
                raise
        torch.cuda.empty_cache()
        self._shape.halve()
        log.warning("hf-mlm: out of memory with %d copies; smaller batches from here on", len(batch.ids))
        first = Batch(batch.ids[:half], batch.positions[:half], batch.targets[:half], batch.sentences[:half])
        second = Batch(batch.ids[half:], batch.positions[half:], batch.targets[half:], batch.sentences[half:])
        return np.concatenate([self._logprobs(first), self._logprobs(second)])

    def _probe(self) -> Batch:
        """Two short copies with different masked positions."""
        encoder = self._encoder
        text = [encoder.mask_id] * 3
        ids = np.array([[*encoder.prefix, *text, *encoder.suffix]] * 2)
        start = len(encoder.prefix)
        return Batch(ids, np.array([start, start + 2]), np.array([encoder.mask_id] * 2), [0, 0])


def _device(name: str | None) -> torch.device:
    available = torch.cuda.is_available()
    if name and name.startswith("cuda") and not available:
        log.warning("hf-mlm: no GPU for device=%s; running on the CPU", name)  # the harness's own default names one
        name = None
    return torch.device(name or ("cuda" if available else "cpu"))


def _sentence(request: Instance) -> str:
    context, sentence = map(str, request.args)
    if context:
        raise ValueError(
            f"hf-mlm scores whole sentences, and this request has the context {context!r} before {sentence!r}. "
            "The log-probability of a continuation is not defined for a masked model: use a task with empty contexts, "
            "without few-shot examples and system instruction, or a causal model."
        )
    return sentence
