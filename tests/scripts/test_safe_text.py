"""Text of others: nothing acts without being seen, on one line, on several and in JSON."""

import json

import pytest

from lm_eval_tasks.scripts.shared.safe_text import in_json, one_line, visible

HOSTILE = "a\u202eb\x1b[31m\u2028c\ud800\u200d\u3164\U000e0041"


def test_one_line_has_no_other_space_and_no_end() -> None:
    assert one_line("a\nb\tc\u00a0d e") == "a[U+000A]b[U+0009]c[U+00A0]d e"
    assert visible("a\nb\tc\u00a0d e") == "a\nb\tc\u00a0d e"


@pytest.mark.parametrize("make", [visible, one_line])
def test_what_acts_unseen_is_written_out(make: type[str]) -> None:
    expected = "a[U+202E]b[U+001B][31m[U+2028]c[U+D800][U+200D][U+3164][U+E0041]"
    assert make(HOSTILE) == expected
    assert make(make(HOSTILE)) == expected
    assert make("র\u200d্যাব модель мाः") == "র\u200d্যাব модель мाः"  # joiners after a Bangla letter only


def test_json_keeps_its_content() -> None:
    text = json.dumps({"name": HOSTILE}, ensure_ascii=False, indent=2)
    assert json.loads(in_json(text)) == {"name": HOSTILE}
    in_json(text).encode("utf-8")
    assert not set("\u202e\u2028\u3164\U000e0041") & set(in_json(text))
