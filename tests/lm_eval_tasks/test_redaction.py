"""Secrets among the arguments of a run: what is one, what is not, and that none is written."""

from pathlib import Path
from typing import Any

import pytest

from lm_eval_tasks.redaction import REMOVED, secret_arguments, without_secrets
from tests.support.harness import evaluate


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("auth_token", "abc"),
        ("api_key", "abc"),
        ("API-Key", "abc"),
        ("openai_api_key", "abc"),
        ("token", "abc"),
        ("hf_token", "abc"),
        ("password", "abc"),
        ("aws_secret_access_key", "abc"),
        ("note", "hf_abcdefghijklmnopqrstuvwxyzABCDEFGH"),
        ("note", "hf_a1b2c3d4e5"),
        ("note", "sk-proj-0123456789abcdef"),
        ("note", "Bearer abcdef"),
        ("note", "ghp_0123456789abcdefABCDEF"),
        ("note", "AKIAIOSFODNN7EXAMPLE"),
        ("note", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln"),
        ("base_url", "http://user:word@host/v1"),
        ("base_url", "http://host/v1?api_key=abc&x=1"),
        ("header", {"Authorization": "abc"}),
        ("header", {"X-Api-Key": "abc"}),
        ("headers", [{"Cookie": "abc"}, "other"]),
    ],
)
def test_secrets(name: str, value: Any) -> None:
    assert secret_arguments({"pretrained": "a/b", name: value}) == [name]
    shown = str(without_secrets({name: value}))
    assert REMOVED in shown
    assert "abc" not in shown.replace("api_key", "")
    assert "word@" not in shown


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("tokenizer", "a/b"),
        ("token", True),
        ("use_auth_token", False),
        ("prefix_token_id", 2),
        ("eos_string", "</s>"),
        ("think_end_token", "</think>"),
        ("add_bos_token", "true"),
        ("first_token", "scored"),
        ("pretrained", "hf_checkpoints/run-2024"),
        ("pretrained", "/models/sk-bert-base-cased-v2"),
        ("model", "gpt-4o-mini-2024-07-18"),
        ("base_url", "http://127.0.0.1:8000/v1/completions"),
        ("data_sha256", "a2daa5f1c5745214ca377b8971938e6be7e6f409b443a881670f9566a456c373"),
        ("note", "the bearer of news"),
        ("api_key", ""),
        ("sizes", [1, 2.5, None]),
    ],
)
def test_what_is_none_is_kept(name: str, value: Any) -> None:
    assert secret_arguments({name: value}) == []
    assert without_secrets({name: value}) == {name: value}


def test_only_the_key_goes_out_of_a_longer_text() -> None:
    shown = without_secrets({"note": "as hf_abcdefgh1234 said", "base_url": "http://u:p@host/v1"})
    assert shown == {"note": f"as {REMOVED} said", "base_url": f"http://{REMOVED}@host/v1"}


def test_no_secret_enters_the_metadata_of_a_task(models: dict[str, Path]) -> None:
    metadata = {"auth_token": "abcdef", "header": {"Authorization": "Bearer abcdef"}, "purpose": "with hf_abcdef1234"}
    found = evaluate("rubia_sample_class", {"pretrained": str(models["bpe_with_bos"])}, metadata, limit=2)
    recorded = found["configs"]["rubia_sample_class"]["metadata"]
    assert recorded["auth_token"] == recorded["header"]["Authorization"] == REMOVED
    assert recorded["purpose"] == f"with {REMOVED}"
    assert "abcdef" not in str(found["configs"])
