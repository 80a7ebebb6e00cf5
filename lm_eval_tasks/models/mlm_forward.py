"""Log-probabilities of masked tokens, with the vocabulary projection at the masked positions only.

A masked-LM head maps every position to the whole vocabulary, and one row of a copy is wanted. A hook on the encoder
keeps the hidden state of that row and the model's own head does the rest, so no architecture need be known. It is
checked against the full model once, at start; a model where it does not hold runs in full.
"""

import logging
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from lm_eval_tasks.models.pll import Batch

log = logging.getLogger(__name__)

_REDUCED_AT_ONCE = 2**20  # logits whose log-sum-exp is taken in one piece, to stay in the processor's cache


class MaskedForward:
    """One model on one device."""

    def __init__(self, model: Any, device: torch.device) -> None:
        self.model, self.device = model, device
        self.shortcut = False

    @torch.inference_mode()
    def check_shortcut(self, batch: Batch) -> None:
        """Use the projection at masked positions only if on `batch` it gives what the full model gives."""
        full = self._logits(batch).float()
        try:
            self.shortcut = True
            short = self._logits(batch).float()
            scale = float(full.abs().max())
            tolerance = scale * (1e-4 if self.model.dtype == torch.float32 else 3e-2)
            same = short.shape == full.shape and float((short - full).abs().max()) <= tolerance
        except (RuntimeError, TypeError, ValueError, AttributeError, IndexError, KeyError) as error:
            log.info("projection at masked positions failed: %s", error)
            same = False
        self.shortcut = same
        if not same:
            log.warning(
                "hf-mlm: %s does not allow the vocabulary projection at the masked positions only; every position is "
                "projected, which is slower.",
                type(self.model).__name__,
            )

    @torch.inference_mode()
    def logprobs(self, batch: Batch) -> NDArray[np.float64]:
        """Natural-log probability of each target of the batch."""
        logits = self._logits(batch)
        targets = torch.from_numpy(batch.targets).to(self.device)[:, None]
        rows = max(1, _REDUCED_AT_ONCE // logits.shape[-1]) if self.device.type == "cpu" else len(logits)
        parts = [
            part.gather(1, target)[:, 0].float() - part.float().logsumexp(-1)
            for part, target in zip(torch.split(logits, rows), torch.split(targets, rows), strict=True)
        ]
        return torch.cat(parts).cpu().numpy().astype(np.float64)

    def _logits(self, batch: Batch) -> torch.Tensor:
        ids = torch.from_numpy(batch.ids).to(self.device)
        positions = torch.from_numpy(batch.positions).to(self.device)
        rows = torch.arange(len(ids), device=self.device)
        inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
        if not self.shortcut:
            logits: torch.Tensor = self.model(**inputs).logits[rows, positions]
            return logits

        def keep_masked(_module: Any, _arguments: Any, output: Any) -> Any:
            hidden = output[0][rows, positions].unsqueeze(1)
            if isinstance(output, tuple):
                return (hidden, *output[1:])
            output["last_hidden_state"] = hidden
            return output

        # Registered for this call only: a model passed in as an object is handed back as it came.
        handle = self.model.base_model.register_forward_hook(keep_masked)
        try:
            logits = self.model(**inputs).logits[:, 0]
            return logits
        finally:
            handle.remove()
