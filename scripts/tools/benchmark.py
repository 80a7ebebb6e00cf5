"""Speed and memory of sentence scoring, side by side in one run: this project, minicons, LM-PPL, the harness.

    python -m lm_eval_tasks.scripts.tools.benchmark FILE.tsv [--sentences 200] [--vocabularies 8000,250002] [--out table.md]

LM-PPL asks for libraries too old to stand beside the harness, and imports `openai` whatever is scored with it:

    pip install minicons openai && pip install --no-deps lmppl==0.3.2

FILE.tsv has the columns pro-trope and anti-trope (RuBia's own file). Models have random weights and the shape of
XLM-R-base (masked) or GPT-2 (causal), made on the fly with a tokenizer trained on the file; only the vocabulary
differs. Each contender runs in a process of its own: seconds are those of scoring, without loading; memory is the
peak of the process. On a machine with other work CPU seconds are the fairer measure.

- masked: `hf-mlm`; minicons and LM-PPL one sentence at a time, which is their fastest way here (no padding; LM-PPL
  cannot batch sentences of different length without padding all to `max_length`).
- causal: the harness's `hf` in batches; LM-PPL one sentence at a time, as the authors of RuBia ran it.

"Agree" counts the sentences whose log-perplexity is within 1e-4 of the first contender's, relative. LM-PPL joins the
pieces around a mask to a string and tokenizes that again, which can give other pieces: it then scores another sentence.
"""

import argparse
import csv
import importlib.util
import json
import math
import os
import random
import resource
import string
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

# Nothing heavy is imported at the top: on Linux a child's peak memory starts at its parent's.
CONTENDERS = {"masked": ("hf-mlm", "minicons", "lmppl"), "causal": ("hf", "lmppl-causal")}
NEEDS = {"masked": ("minicons", "lmppl", "openai"), "causal": ("lmppl", "openai")}
INSTALL = "pip install minicons openai && pip install --no-deps lmppl==0.3.2"
LAYERS, HIDDEN, HEADS = 12, 768, 12
Scorer = Callable[[list[str]], list[float]]


def main(arguments: list[str] | None = None) -> None:
    """Run every contender and print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("tsv", type=Path, help="tab-separated file with the columns pro-trope and anti-trope")
    parser.add_argument("--sentences", type=int, default=200, help="how many, drawn in pairs (default 200)")
    parser.add_argument("--vocabularies", default="8000,250002", help="vocabulary sizes, comma-separated")
    parser.add_argument("--parts", default="masked,causal", help="masked, causal or both")
    parser.add_argument("--layers", type=int, default=LAYERS, help="layers of the models (default 12)")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1, help="torch threads (default: all cores)")
    parser.add_argument("--out", type=Path, help="write the table here as well")
    given = parser.parse_args(arguments)
    needed = sorted({name for part in given.parts.split(",") for name in NEEDS.get(part, ())})
    if missing := [name for name in needed if importlib.util.find_spec(name) is None]:
        parser.error(f"the contenders of {given.parts} need {', '.join(missing)}: {INSTALL}")
    texts = draw_sentences(given.tsv, given.sentences)
    lines = list(HEADER)
    for part in given.parts.split(","):
        for vocabulary in map(int, given.vocabularies.split(",")):
            with tempfile.TemporaryDirectory() as folder:
                plan = {"part": part, "vocabulary": vocabulary, "model": folder, "texts": texts}
                plan |= {"layers": given.layers, "threads": given.threads, "tsv": str(given.tsv)}
                in_child("build", plan)
                results = {name: in_child(name, plan) for name in CONTENDERS[part]}
            lines += table_rows(part, vocabulary, results)
            print(*lines[-len(results) :], sep="\n", file=sys.stderr, flush=True)
    table = "\n".join([*lines, "", f"{len(texts)} sentences, {given.threads} threads, {given.layers} layers.", ""])
    print("\n" + table)
    if given.out:
        given.out.write_text(table, encoding="utf-8")


def draw_sentences(tsv: Path, n: int) -> list[str]:
    """Both sentences of randomly drawn pairs, always the same ones."""
    with tsv.open(encoding="utf-8", newline="") as file:
        pairs = [(row["pro-trope"], row["anti-trope"]) for row in csv.DictReader(file, delimiter="\t")]
    drawn = random.Random(0).sample(pairs, min(len(pairs), -(-n // 2)))
    return [text for pair in drawn for text in pair][:n]


def in_child(name: str, plan: dict[str, Any]) -> dict[str, Any]:
    """What the contender reports, run in a process of its own."""
    print(f"... {plan['part']}, vocabulary {plan['vocabulary']}: {name}", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / "plan.json", Path(folder) / "report.json"]
        files[0].write_text(json.dumps(plan), encoding="utf-8")
        child = "import sys; from lm_eval_tasks.scripts.tools.benchmark import run_child; run_child(*sys.argv[1:])"
        done = subprocess.run([sys.executable, "-c", child, name, *map(str, files)], capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{name} failed:\n{done.stderr[-3000:]}")
        return dict(json.loads(files[1].read_text(encoding="utf-8")))


def run_child(name: str, plan_file: str, report_file: str) -> None:
    """In the child: build the model, or load one contender and time it."""
    import torch

    plan = json.loads(Path(plan_file).read_text(encoding="utf-8"))
    torch.set_num_threads(plan["threads"])
    report: dict[str, Any] = {}
    if name == "build":
        build_model(plan)
    else:
        scorer = SCORERS[name](plan["model"])
        scorer(plan["texts"][:2])
        wall, cpu = time.perf_counter(), time.process_time()
        report["values"] = scorer(plan["texts"])
        report |= {"seconds": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
    report["mib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    Path(report_file).write_text(json.dumps(report), encoding="utf-8")


def build_model(plan: dict[str, Any]) -> None:
    """Save a model with random weights and a tokenizer trained on the sentences."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel, XLMRobertaConfig, XLMRobertaForMaskedLM

    tokenizer = train_tokenizer(Path(plan["tsv"]), min(6000, plan["vocabulary"]), causal=plan["part"] == "causal")
    tokenizer.save_pretrained(plan["model"])
    # Weights wider than usual, so that the scores of two sentences are not all but equal.
    shared = {"vocab_size": plan["vocabulary"], "initializer_range": 0.05}
    shared |= {"bos_token_id": 0, "pad_token_id": 1, "eos_token_id": 2}
    torch.manual_seed(0)
    if plan["part"] == "causal":
        config = GPT2Config(n_layer=plan["layers"], n_embd=HIDDEN, n_head=HEADS, **shared)
        GPT2LMHeadModel(config).save_pretrained(plan["model"])
    else:
        shared |= {"hidden_size": HIDDEN, "num_attention_heads": HEADS, "intermediate_size": 4 * HIDDEN}
        shared |= {"max_position_embeddings": 514, "type_vocab_size": 1, "num_hidden_layers": plan["layers"]}
        XLMRobertaForMaskedLM(XLMRobertaConfig(**shared)).save_pretrained(plan["model"])


def train_tokenizer(tsv: Path, n_pieces: int, *, causal: bool) -> Any:
    """A unigram tokenizer like XLM-R's, with the special tokens of the model's kind."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="first")
    options: dict[str, Any] = {"special_tokens": special, "unk_token": "<unk>", "show_progress": False}
    # Latin letters, because LM-PPL looks at how an English sentence is tokenized.
    trainer = trainers.UnigramTrainer(vocab_size=n_pieces, initial_alphabet=[*string.ascii_lowercase], **options)
    tokenizer.train_from_iterator(draw_sentences(tsv, 10**6), trainer)
    template = "<s> $A" if causal else "<s> $A </s>"
    tokenizer.post_processor = processors.TemplateProcessing(single=template, special_tokens=[("<s>", 0), ("</s>", 2)])
    names = {"bos_token": "<s>", "pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    if not causal:
        names |= {"cls_token": "<s>", "sep_token": "</s>", "mask_token": "<mask>"}
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names)


def hf_mlm(model: str) -> Scorer:
    """This project's backend."""
    from lm_eval_tasks.models.masked_lm import HFMaskedLM

    return per_token(HFMaskedLM(model, device="cpu"))


def harness(model: str) -> Scorer:
    """The harness's own `hf`."""
    from lm_eval.models.huggingface import HFLM

    return per_token(HFLM(model, device="cpu", dtype="float32", batch_size=16))


def per_token(lm: Any) -> Scorer:
    """Log-perplexity of each sentence from a backend of the harness."""
    from lm_eval.api.instance import Instance

    def score(texts: list[str]) -> list[float]:
        requests = [Instance("loglikelihood", {}, ("", text), index) for index, text in enumerate(texts)]
        sums = [value for value, _ in lm.loglikelihood(requests, disable_tqdm=True)]
        tokens = lm.tokenizer(texts, add_special_tokens=False)["input_ids"]
        return [-value / len(ids) for value, ids in zip(sums, tokens, strict=True)]

    return score


def minicons(model: str) -> Scorer:
    """minicons; sentences are encoded here, because it calls a method that transformers 5 dropped."""
    from minicons.scorer import MaskedLMScorer

    scorer = MaskedLMScorer(model, "cpu")

    def one(text: str) -> float:
        prepared = scorer.prepare_text(scorer.tokenizer([text]), PLL_metric="original")
        (values,) = scorer.compute_stats(prepared)
        return -math.fsum(values) / len(values)

    return lambda texts: [one(text) for text in texts]


def lmppl(kind: str) -> Callable[[str], Scorer]:
    """LM-PPL's `MaskedLM` or `LM`."""

    def make(model: str) -> Scorer:
        import lmppl.ppl_mlm
        import lmppl.ppl_recurrent_lm
        import transformers

        def plain(loader: Any) -> SimpleNamespace:
            return SimpleNamespace(from_pretrained=lambda name, **_: loader.from_pretrained(name))

        # It gives these options that transformers 5 dropped.
        names = ("AutoTokenizer", "AutoConfig", "AutoModelForMaskedLM", "AutoModelForCausalLM")
        loaders = {name: plain(getattr(transformers, name)) for name in names}
        for module in (lmppl.ppl_mlm, lmppl.ppl_recurrent_lm):
            module.internet_connection = lambda: False  # it asks google.com whether there is a network
            module.tqdm = iter
            module.transformers = SimpleNamespace(**loaders)
        scorer = getattr(lmppl, kind)(model)

        def one(text: str) -> float:
            try:
                return math.log(scorer.get_perplexity(text))
            except RuntimeError:  # copies of different length after its second tokenization
                return math.log(scorer.get_perplexity(text, batch_size=1))

        return lambda texts: [one(text) for text in texts]

    return make


SCORERS: dict[str, Callable[[str], Scorer]] = {
    "hf-mlm": hf_mlm,
    "minicons": minicons,
    "lmppl": lmppl("MaskedLM"),
    "hf": harness,
    "lmppl-causal": lmppl("LM"),
}

HEADER = (
    "| models | vocabulary | contender | seconds | × first | CPU seconds | × first | peak MiB | agree |",
    "|---|---:|---|---:|---:|---:|---:|---:|---:|",
)


def table_rows(part: str, vocabulary: int, results: dict[str, dict[str, Any]]) -> list[str]:
    """One Markdown row per contender."""
    first = next(iter(results.values()))
    rows = []
    for name, found in results.items():
        agree = sum(math.isclose(x, y, rel_tol=1e-4) for x, y in zip(found["values"], first["values"], strict=True))
        cells = [part, f"{vocabulary:,}", name]
        for key in ("seconds", "cpu"):
            cells += [f"{found[key]:.1f}", "" if found is first else f"{found[key] / first[key]:.2f}×"]
        rows.append(f"| {' | '.join(cells)} | {found['mib']:,} | {agree}/{len(first['values'])} |")
    return rows


if __name__ == "__main__":
    main()
