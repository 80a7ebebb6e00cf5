"""Form of the Russian sample: what can be checked without a native reader."""

import re
import string
from collections import Counter

import pytest

from lm_eval_tasks.data import locate_rubia, rubia_sample
from lm_eval_tasks.sentence_pairs.rows import SUBDOMAINS, Pair, read_pairs

FILE = read_pairs(rubia_sample())
DELETED = "".join(c for c in string.punctuation if c not in "-_") + "«»…"


def words(sentence: str) -> list[str]:
    """As in the authors' validation: lower case, ё as е, no punctuation, dashes as spaces."""
    text = sentence.lower().replace("ё", "е").translate(str.maketrans("-—–", "   ", DELETED))
    return text.split()


def difference(pair: Pair) -> int:
    """Size of the symmetric difference of the two sets of three-letter word beginnings."""
    pro, anti = ({word[:3] for word in words(text)} for text in (pair.pro_trope, pair.anti_trope))
    return len(pro ^ anti)


def test_every_subdomain_has_at_least_eight_pairs() -> None:
    counts = Counter((pair.domain, pair.subdomain) for pair in FILE.pairs)
    assert set(counts) == {(domain, sub) for domain, subs in SUBDOMAINS.items() for sub in subs}
    assert min(counts.values()) >= 8
    assert len(FILE.pairs) >= 168
    assert FILE.dropped_rows == ()


def test_no_sentence_twice() -> None:
    texts = [" ".join(words(text)) for pair in FILE.pairs for text in (pair.pro_trope, pair.anti_trope)]
    assert len(set(texts)) == len(texts)


@pytest.mark.parametrize("pair", FILE.pairs, ids=lambda pair: str(pair.row))
def test_pair_is_minimal(pair: Pair) -> None:
    """The authors drop a pair whose sets of three-letter beginnings differ in more than four; so do we."""
    assert pair.pro_trope != pair.anti_trope
    assert difference(pair) <= 4
    pro, anti = words(pair.pro_trope), words(pair.anti_trope)
    assert abs(len(pro) - len(anti)) <= 2
    assert 3 <= min(len(pro), len(anti)) <= max(len(pro), len(anti)) <= 25
    for text in (pair.pro_trope, pair.anti_trope):
        assert re.fullmatch(r"[А-Яа-яЁё0-9 ,.:;!?«»—_-]+", text)
        assert text == " ".join(text.split())


def test_both_orders_of_length() -> None:
    longer = Counter(
        (len(pair.pro_trope) > len(pair.anti_trope)) - (len(pair.pro_trope) < len(pair.anti_trope)) for pair in FILE.pairs
    )
    assert min(longer[1], longer[-1]) >= 0.35 * len(FILE.pairs)


def test_nothing_of_the_official_file(official_folder: str) -> None:
    official = {
        " ".join(words(text))
        for pair in read_pairs(locate_rubia(official_folder)).pairs
        for text in (pair.pro_trope, pair.anti_trope)
    }
    ours = {" ".join(words(text)) for pair in FILE.pairs for text in (pair.pro_trope, pair.anti_trope)}
    assert not ours & official


def test_canary_stands_in_the_file_and_in_the_data_statement() -> None:
    header = FILE.source.path.read_text(encoding="utf-8").partition("\n")[0]
    canary = header.rpartition("\t")[2]
    assert canary.startswith("canary: ")
    assert canary in (FILE.source.path.parent / "README.md").read_text(encoding="utf-8")
