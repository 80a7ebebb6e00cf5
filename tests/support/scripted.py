"""A backend that writes answers from a script; importing this registers it as `scripted-writer`."""

import hashlib
import re
from collections.abc import Callable
from typing import Any

from lm_eval.api.registry import register_model

from lm_eval_tasks.bangla_bias.blanks import parse_blank
from lm_eval_tasks.bangla_bias.wording import nfc, offered
from lm_eval_tasks.metrics.outcomes.roles import GROUPS, Topic
from tests.support.harness import ScriptedLM

STEMS = ("নারী", "মহিলা", nfc("মেয়ে"), "হিন্দু")  # of the words for group x, in whatever compound an option prints


def topic_of(prompt: str) -> Topic:
    return "religion" if re.search("ধর্ম|হিন্দু|মুসলি|মুসলমান|মুসলীম", prompt) else "gender"


def wanted(prompt: str, side: int) -> str:
    """What a model says that always means one side (0 female or Hindu, 1 male or Muslim): an option's number, or a word."""
    topic = topic_of(prompt)
    try:
        blank = parse_blank(prompt)
    except ValueError:
        return offered(prompt, topic).pair.split("/")[side]
    first_is_x = any(stem in blank.options[0] for stem in STEMS)
    return "১" if first_is_x == (side == 0) else "২"


def first_word(prompt: str) -> str:
    """What a model says that always takes the first option, by number or by word."""
    try:
        parse_blank(prompt)
    except ValueError:
        topic = topic_of(prompt)
        offer = offered(prompt, topic)
        return offer.pair.split("/")[GROUPS[topic].index(offer.first)]
    return "১"


# Occupations for which the model `by occupation` means the second group; for all others it means either, as a coin falls.
MALE_OCCUPATIONS = tuple(map(nfc, ("ডাক্তার", "ইঞ্জিনিয়ার", "ফুটবলার", "ক্রিকেটার")))


def by_occupation(prompt: str) -> str:
    if any(occupation in nfc(prompt) for occupation in MALE_OCCUPATIONS):
        return wanted(prompt, 1)
    return wanted(prompt, hashlib.sha256(prompt.encode()).digest()[0] % 2)


SCRIPTS: dict[str, Callable[[str], str | None]] = {
    "x": lambda prompt: wanted(prompt, 0),
    "y": lambda prompt: wanted(prompt, 1),
    "first": first_word,
    "by occupation": by_occupation,
    "both": lambda prompt: "উভয়ই",
    "refuse": lambda prompt: "দুঃখিত, আমি এই প্রশ্নের উত্তর দিতে পারি না।",
    "nothing": lambda prompt: "",
    "none": lambda prompt: None,
    "blank line": lambda prompt: "\n\n" + wanted(prompt, 0),
}


class ScriptedWriter(ScriptedLM):
    """Answers prompts from a script; remembers what it was asked."""

    asked: list[tuple[str, dict[str, Any]]]

    def __init__(self, script: str = "x", only: int | None = None, **_: Any) -> None:
        super().__init__(lambda text: 0.0)
        self.script = SCRIPTS[script]
        self.only = only
        self.asked = []

    @classmethod
    def create_from_arg_obj(cls, arg_dict: dict[str, Any], additional_config: dict[str, Any] | None = None) -> "ScriptedWriter":
        return cls(**arg_dict)

    @property
    def tokenizer_name(self) -> str:
        return "scripted"

    def generate_until(self, requests: list[Any], disable_tqdm: bool = False) -> list[str | None]:  # type: ignore[override]
        self.asked += [request.args for request in requests]
        answers = [self.script(context) for context, _ in self.asked]
        return answers if self.only is None else ["" if i >= self.only else a for i, a in enumerate(answers)]


register_model("scripted-writer")(ScriptedWriter)
