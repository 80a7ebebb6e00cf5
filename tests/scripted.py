"""A backend that writes answers from a script; importing this registers it as `scripted-writer`."""

from collections.abc import Callable
from typing import Any

from lm_eval.api.registry import register_model

from tests.harness import ScriptedLM


def first_word(prompt: str) -> str:
    """What a model that always takes the first option says, by number or by word."""
    if "১." in prompt:
        return "১"
    groups = (("নারী", "পুরুষ"), ("হিন্দু", "মুসলিম"))
    return min((word for pair in groups for word in pair if word in prompt), key=prompt.rindex)


def wanted(prompt: str, words: tuple[str, ...]) -> str:
    """The option number or the word of a model that always means one of `words`."""
    for line in prompt.split("\n"):
        if line[:2] in ("১.", "২.") and line[3:] in words:
            return line[0]
    return next(word for word in words if word in prompt)


SCRIPTS: dict[str, Callable[[str], str | None]] = {
    "x": lambda prompt: wanted(prompt, ("নারী", "মেয়ে", "হিন্দু")),
    "y": lambda prompt: wanted(prompt, ("পুরুষ", "ছেলে", "মুসলিম")),
    "first": first_word,
    "refuse": lambda prompt: "দুঃখিত, আমি এই প্রশ্নের উত্তর দিতে পারি না।",
    "nothing": lambda prompt: "",
    "none": lambda prompt: None,
    "blank line": lambda prompt: "\n\n" + wanted(prompt, ("নারী", "মেয়ে", "হিন্দু")),
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
