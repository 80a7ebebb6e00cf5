"""Tiny random masked language models with tokenizers trained on the spot, and sentences to score."""

import random
from pathlib import Path
from typing import Any

import torch
from lm_eval.api.instance import Instance
from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers
from transformers import (
    AutoModelForMaskedLM,
    BertConfig,
    DebertaV2Config,
    DistilBertConfig,
    ElectraConfig,
    ModernBertConfig,
    PreTrainedTokenizerFast,
    RobertaConfig,
    XLMRobertaConfig,
)

SYLLABLES = tuple("ка ро ми лен тов ста ши пре бу га ню зо ёл йка щи дор пла кру вет сон".split())  # noqa: SIM905
BERT_SPECIAL = {"unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "pad": "[PAD]", "mask": "[MASK]"}
ROBERTA_SPECIAL = {"cls": "<s>", "pad": "<pad>", "sep": "</s>", "unk": "<unk>", "mask": "<mask>"}
SIZE = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
# Wide enough that predictions differ from token to token: with the usual 0.02 every sentence scores n log V.
SPREAD = {"initializer_range": 0.5}
POSITIONS = 90
FAMILIES = ("bert", "roberta", "xlm-roberta")


def sentences(n: int = 210) -> list[str]:
    """Pseudo-Russian sentences of 1 to 12 words of 1 to 4 syllables, with punctuation."""
    rng = random.Random(7)

    def word() -> str:
        return "".join(rng.choice(SYLLABLES) for _ in range(rng.randint(1, 4)))

    def sentence(n_words: int) -> str:
        words = [word() + rng.choice(["", "", "", ",", "-" + word()]) for _ in range(n_words)]
        return (" ".join(words).capitalize().rstrip(",")) + rng.choice(["", ".", "!", "?"])

    return [sentence(rng.randint(1, 9)) for _ in range(n)]


def make_tokenizer(family: str) -> Any:
    """A fast tokenizer of that family's kind: WordPiece, byte-level BPE, or unigram pieces."""
    special = BERT_SPECIAL if family == "bert" else ROBERTA_SPECIAL
    options: dict[str, Any] = {"special_tokens": list(special.values()), "show_progress": False}
    if family == "bert":
        tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        trainer: Any = trainers.WordPieceTrainer(vocab_size=120, **options)
    elif family == "roberta":
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        trainer = trainers.BpeTrainer(vocab_size=400, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), **options)
    else:
        tokenizer = Tokenizer(models.Unigram())
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
        trainer = trainers.UnigramTrainer(vocab_size=120, unk_token="<unk>", **options)
    tokenizer.train_from_iterator(sentences(), trainer)
    ends = [(special[name], tokenizer.token_to_id(special[name])) for name in ("cls", "sep")]
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{special['cls']} $A {special['sep']}", special_tokens=ends
    )
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **{f"{name}_token": token for name, token in special.items()})


def make_config(family: str, vocab_size: int, pad_id: int) -> Any:
    """A configuration of two small layers; every family takes at most 88 or 90 tokens."""
    common = {"vocab_size": vocab_size, "pad_token_id": pad_id, "max_position_embeddings": POSITIONS, **SPREAD}
    configs = {
        "bert": lambda: BertConfig(**SIZE, **common),
        "roberta": lambda: RobertaConfig(**SIZE, **common),
        "xlm-roberta": lambda: XLMRobertaConfig(**SIZE, **common),
        "electra": lambda: ElectraConfig(embedding_size=16, **SIZE, **common),
        "deberta-v2": lambda: DebertaV2Config(relative_attention=True, pos_att_type=["p2c", "c2p"], **SIZE, **common),
        "distilbert": lambda: DistilBertConfig(dim=32, n_layers=2, n_heads=2, hidden_dim=64, **common),
        "modernbert": lambda: ModernBertConfig(
            **SIZE, **common, bos_token_id=1, eos_token_id=2, cls_token_id=1, sep_token_id=2
        ),
    }
    return configs[family]()


def save_model(folder: Path, family: str, **changes: Any) -> str:
    """Folder of a saved model with its tokenizer; `changes` are set on the configuration."""
    tokenizer = make_tokenizer(family if family in FAMILIES else "bert")
    config = make_config(family, len(tokenizer), tokenizer.pad_token_id)
    for name, value in changes.items():
        setattr(config, name, value)
    torch.manual_seed(0)
    AutoModelForMaskedLM.from_config(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


class SavedModels:
    """Folders of the tiny models by family, each made once."""

    def __init__(self, folders: Any) -> None:
        self._folders, self._made = folders, dict[str, str]()

    def __call__(self, family: str) -> str:
        if family not in self._made:
            self._made[family] = save_model(self._folders.mktemp(family), family)
        return self._made[family]


def requests(texts: list[str], context: str = "") -> list[Instance]:
    """Requests as a task of whole sentences makes them."""
    return [Instance("loglikelihood", {}, (context, text), i) for i, text in enumerate(texts)]


def scores(lm: Any, texts: list[str]) -> list[float]:
    """Pseudo-log-likelihoods of the texts."""
    return [value for value, _ in lm.loglikelihood(requests(texts), disable_tqdm=True)]
