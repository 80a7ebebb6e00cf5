"""Cost of `hf-mlm` by number of sentences: seconds per sentence and peak memory, with a tiny model of random weights.

    python -m lm_eval_tasks.scripts.tools.scaling [1000 10000 100000]

Sentences are distinct, so that nothing is saved by scoring equal ones once. Each size runs in a process of its own; memory is
the peak of the process, and what it is above that of the smallest size is what the sentences cost.
"""

import random
import resource
import subprocess
import sys
import tempfile
import time

SIZES = (1_000, 10_000, 100_000)
LETTERS = "абвгдежзиклмнопрстуф"


def main() -> None:
    """Print the table, or, called with one size and `--child`, one row of it."""
    if sys.argv[-1] == "--child":
        print(*measure(int(sys.argv[1])))
        return
    print("| sentences | seconds | ms per sentence | peak MiB |\n|---:|---:|---:|---:|")
    for size in map(int, sys.argv[1:] or map(str, SIZES)):
        command = [sys.executable, "-m", "lm_eval_tasks.scripts.tools.scaling", str(size), "--child"]
        row = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1]
        seconds, peak = map(float, row.split())
        print(f"| {size:,} | {seconds:.1f} | {1000 * seconds / size:.2f} | {peak:.0f} |", flush=True)


def measure(size: int) -> tuple[float, float]:
    """Seconds to score `size` sentences and the peak memory of this process in MiB."""
    from lm_eval.api.instance import Instance
    from transformers import BertConfig, BertForMaskedLM, BertTokenizer

    from lm_eval_tasks.models.masked_lm import HFMaskedLM

    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as vocabulary:
        pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *LETTERS, *(f"##{letter}" for letter in LETTERS)]
        vocabulary.write("\n".join(pieces))
        vocabulary.flush()
        tokenizer = BertTokenizer(vocabulary.name, do_lower_case=False)
    shape = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64}
    lm = HFMaskedLM(BertForMaskedLM(BertConfig(vocab_size=len(pieces), **shape)), tokenizer=tokenizer)
    draw = random.Random(0)
    sentences = ["".join(draw.choices(LETTERS, k=draw.randint(6, 20))) for _ in range(size)]
    requests = [Instance("loglikelihood", {}, ("", sentence), 0) for sentence in sentences]
    began = time.perf_counter()
    lm.loglikelihood(requests, disable_tqdm=True)
    return time.perf_counter() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
