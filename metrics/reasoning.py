"""What a reasoning model writes before its answer."""

import re

_TAG = "(?:think|thinking|thought|reasoning)"


def without_reasoning(text: str) -> str | None:
    """The text after its closed reasoning blocks; None where a block never ended, since no answer was given then.

    A chat template may put the opening tag into the prompt: a closing tag alone ends a block too.
    """
    text = re.sub(rf"<({_TAG})>.*?</\1>", "\n", text, flags=re.DOTALL | re.IGNORECASE)
    text = re.split(rf"</{_TAG}>", text, flags=re.IGNORECASE)[-1]
    return None if re.search(rf"<{_TAG}>", text, flags=re.IGNORECASE) else text
