"""Form of the Bangla sample: what can be checked without a native reader."""

import csv
import io
import re
import shutil
import subprocess
import sys
import unicodedata
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from lm_eval_tasks import tasks_path

SAMPLE = tasks_path() / "bangla_bias" / "sample"
POLARITIES = ("Positive trait", "Negative trait")
CATEGORIES = {
    "gender": ("Personality Based", "Outlook Based", "Communal Based"),
    "religion": ("Personality Based", "Outlook Based", "Communal Based", "Ideology Based"),
}
ANSWERS = {"gender": ("নারী", "পুরুষ"), "religion": ("হিন্দু", "মুসলিম")}
OPTIONS = {"gender": (("নারী", "পুরুষ"), ("মেয়ে", "ছেলে")), "religion": (("হিন্দু", "মুসলিম"),)}
FIRST = {"gender": ("female", "male"), "religion": ("hindu", "muslim")}
PER_LIST = 12
SENTENCES = 60

# No spelling of an answer may stand in a sentence, not even inside a longer word.
ANSWER_PARTS = "নারী পুরুষ মেয়ে ছেলে মহিলা হিন্দু মুসলিম মুসলমান হিঁদু"
# Words that tell the gender or the community of a person: whole words, alone or with a common suffix.
SUFFIXES = "র ের য়ের কে টি টির টিকে টা রা েরা দের েদের য়েরা য়েদের ই ও"
KIN = (
    "বাবা আব্বা আব্বু আম্মা আম্মু জননী জনক ভাই ভাইয়া বোন আপা আপু দাদা দাদি দাদু দিদি নানা নানি ঠাকুমা ঠাকুরদা "
    "কাকা কাকি কাকিমা চাচা চাচি মামা মামি মাসি পিসি খালা ফুফু ফুপু জেঠা জেঠি শ্বশুর শাশুড়ি স্ত্রী স্বামী বউ বৌ "
    "বধূ গৃহবধূ পুত্র কন্যা জামাই দুলাভাই ভাবি বৌদি ননদ দেবর নাতি নাতনি ভাগনে ভাগনি ভাতিজা ভাতিজি পুত্রবধূ "
    "বিধবা বিপত্নীক সতীন গৃহিণী"
)
KIN_FORMS = "মা মায়ের মাকে মায়েরা মায়েদের মার বর বরের কনে কনের"  # with suffixes these collide (মাটি)
GENDERED = (
    "ভদ্রলোক ভদ্রমহিলা যুবক যুবতী তরুণ তরুণী কিশোর কিশোরী বালক বালিকা বৃদ্ধ বৃদ্ধা ছাত্র ছাত্রী শিক্ষিকা লেখিকা "
    "গায়ক গায়িকা নায়ক নায়িকা অভিনেতা অভিনেত্রী নেত্রী সেবিকা রাজা রানি সাহেব বেগম জনাব বান্ধবী শাড়ি দাড়ি "
    "লুঙ্গি গোঁফ টিপ চুড়ি গর্ভ গর্ভবতী প্রসব মাতৃত্ব পিতৃত্ব মাতৃত্বকালীন"
)
COMMUNITY = (
    "জল পানি স্নান গোসল নাশতা নাস্তা জলখাবার নিমন্ত্রণ দাওয়াত নুন লবণ ঈদ পূজা পুজো রোজা নামাজ নামায মন্দির মসজিদ "
    "মাদ্রাসা আশ্রম হজ তীর্থ কোরবানি প্রসাদ সিঁদুর শাঁখা টুপি বোরকা হিজাব আল্লাহ ভগবান ঈশ্বর সালাম নমস্কার প্রণাম "
    "মরহুম প্রয়াত শ্রী ইমাম মাওলানা পুরোহিত ঠাকুর গরু মাংস দোয়া আশীর্বাদ জানাজা শ্মশান কবর দাফন ধর্ম ধর্মীয়"
)

BAD_CHARACTER = re.compile("[^\u0980-\u09ff। \n_,?.;:()‘’-]")
LONE_SIGN = re.compile("(?:^|[^\u0985-\u09b9\u09bc-\u09ce\u09d7])[\u09bc\u09be-\u09cd]|[\u09be-\u09cc]{2}")
SPACING = re.compile("  | \n|\n | [।,?;]|[।,?;](?![ \n]|$)|^ | $")

findings: list[str] = []


def nfc(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def find(ok: bool, message: str) -> None:
    if not ok:
        findings.append(message)


def swapped(text: str, x: str, y: str) -> str:
    return text.replace(x, "\0").replace(y, x).replace("\0", y)


def forms(words: str) -> set[str]:
    return {nfc(word + suffix) for word in words.split() for suffix in ["", *SUFFIXES.split()]}


def read(path: Path, header: list[str]) -> list[dict[str, str]]:
    data = path.read_bytes()
    text = data.decode("utf-8")
    name = path.name
    find(not data.startswith(b"\xef\xbb\xbf"), f"{name}: byte order mark")
    find(b"\r" not in data, f"{name}: carriage return")
    find(data.endswith(b"\n") and not data.endswith(b"\n\n"), f"{name}: end of file")
    find(text == nfc(text), f"{name}: not NFC")
    rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    buffer = io.StringIO(newline="")
    csv.writer(buffer, lineterminator="\n").writerows(rows)
    find(buffer.getvalue() == text, f"{name}: not minimally quoted")
    find(rows[0] == header, f"{name}: header {rows[0]}")
    find(all(len(row) == len(header) for row in rows), f"{name}: ragged rows")
    table = [dict(zip(header, row, strict=False)) for row in rows[1:]]
    find([row["ID"] for row in table] == [str(n + 1) for n in range(len(table))], f"{name}: IDs not 1..n")
    prompts = [row["prompt"] for row in table]
    find(len(set(prompts)) == len(prompts), f"{name}: duplicate prompts")
    for row in table:
        for column in ("prompt", "trait", "occupation"):
            value = row.get(column, "")
            where = f"{name} {row['ID']} {column}"
            find(not (bad := BAD_CHARACTER.findall(value)), f"{where}: characters {[hex(ord(c)) for c in bad]}")
            find(
                not any(unicodedata.category(c) in ("Cf", "Cn", "Co") for c in value),
                f"{where}: invisible or unassigned",
            )
            find(not LONE_SIGN.search(value), f"{where}: stray vowel sign")
            find(not SPACING.search(value), f"{where}: spacing")
    return table


def check_templates(path: Path, topic: str) -> int:
    rows = read(path, ["ID", "prompt", "category", "subcategory", "trait", "occupation"])
    name = path.name
    x, y = ANSWERS[topic]
    categories = CATEGORIES[topic]
    expected = {("Occupation Based", ""): 2 * PER_LIST}
    for category in categories:
        for polarity in POLARITIES:
            expected[category, polarity] = expected[f"Occupation Based+{category}", polarity] = 2 * PER_LIST
    find(Counter((r["category"], r["subcategory"]) for r in rows) == expected, f"{name}: counts per list")

    pairs = defaultdict(list)
    for row in rows:
        pairs[row["category"], row["subcategory"], row["trait"] or row["occupation"]].append(row["prompt"])
        find(all(row["prompt"].count(word) == 1 for word in (x, y)), f"{name} {row['ID']}: answer words not once each")
        find(row["trait"] in row["prompt"], f"{name} {row['ID']}: trait not in the prompt")
        find(row["occupation"] in row["prompt"], f"{name} {row['ID']}: occupation not in the prompt")
        has = bool(row["trait"]), bool(row["occupation"])
        find(has == (bool(row["subcategory"]), "Occupation" in row["category"]), f"{name} {row['ID']}: words and category")
    for key, prompts in pairs.items():
        ok = len(prompts) == 2 and prompts[0] == swapped(prompts[1], x, y)
        find(ok and prompts[0].index(x) < prompts[0].index(y), f"{name}: {key} is not a pair of orders")

    occupations = sorted(topic_ for category, _, topic_ in pairs if category == "Occupation Based")
    homes = Counter(topic_ for category, _, topic_ in pairs if category in categories)
    find(len(homes) == 2 * PER_LIST * len(categories), f"{name}: number of traits")
    find(all(count == 1 for count in homes.values()), f"{name}: a trait in two lists")
    traits = {key for key in pairs if key[0] in categories}
    combined = {(c.removeprefix("Occupation Based+"), s, t) for c, s, t in pairs if "+" in c}
    find(traits == combined, f"{name}: traits alone and with occupation differ")
    used: dict[tuple[str, str], list[str]] = defaultdict(list)
    for (category, polarity, _), prompts in pairs.items():
        if "+" in category:
            used[category, polarity] += [o for o in occupations if f" একজন {o} " in prompts[0]]
    find(all(sorted(seen) == occupations for seen in used.values()), f"{name}: occupations not once per list")
    return len(rows)


def check_ebe(path: Path, topic: str) -> int:
    rows = read(path, ["ID", "prompt", "firstOption"])
    name = path.name
    first_x, first_y = FIRST[topic]
    banned = forms(KIN) | set(nfc(KIN_FORMS).split()) | forms(GENDERED if topic == "gender" else COMMUNITY)
    option_pairs = [tuple(map(nfc, pair)) for pair in OPTIONS[topic]]
    find(len({row["prompt"].split("\n")[0] for row in rows}) == 1, f"{name}: more than one instruction")

    seen = defaultdict(list)
    for row in rows:
        where = f"{name} {row['ID']}"
        lines = row["prompt"].split("\n")
        if len(lines) != 4 or not (lines[2].startswith("১. ") and lines[3].startswith("২. ")):
            find(False, f"{where}: not instruction, sentence and two options")
            continue
        sentence, options = lines[1], (lines[2][3:], lines[3][3:])
        seen[sentence].append(row["firstOption"])
        find(row["firstOption"] in FIRST[topic], f"{where}: firstOption")
        x_first = options if row["firstOption"] == first_x else options[::-1]
        find(x_first in option_pairs, f"{where}: options {options}")
        find(re.findall("_+", row["prompt"]) == ["______"], f"{where}: not one blank")
        find(
            not (hits := [w for w in nfc(ANSWER_PARTS).split() if w in lines[0] + sentence]),
            f"{where}: answer words {hits}",
        )
        words = sentence.split()
        find(8 <= len(words) <= 25, f"{where}: {len(words)} words")
        find(sentence.endswith("।"), f"{where}: no danda at the end")
        hits = sorted(set(re.split("[ ,।?_-]+", sentence)) & banned)
        find(not hits, f"{where}: telling words {hits}")
    find(len(seen) == SENTENCES, f"{name}: {len(seen)} sentences")
    find(all(order == [first_x, first_y] for order in seen.values()), f"{name}: a sentence is not in both orders")
    return len(rows)


def check(folder: Path) -> list[str]:
    """Everything that is wrong with the sample in `folder`."""
    findings.clear()
    for topic in ("gender", "religion"):
        check_templates(folder / "Prompts" / f"template_{topic}_prompts.csv", topic)
        check_ebe(folder / "Prompts" / f"ebe_{topic}_prompts.csv", topic)
    return list(findings)


def test_shipped_files() -> None:
    assert check(SAMPLE) == []


@pytest.mark.parametrize(
    ("name", "old", "new", "finding"),
    [
        ("ebe_gender", "এই বাড়িতে", "এই বাড়িতে মা", "telling words"),
        ("ebe_gender", "______", "____", "not one blank"),
        ("ebe_religion", "পাশের", "পাশের\u200c", "characters"),
        ("template_gender", "আত্মবিশ্বাসী একজন", "সাহসী একজন", "is not a pair of orders"),
        ("template_religion", "Positive trait", "Negative trait", "counts per list"),
        ("ebe_gender", ",female", ",male", "options"),
    ],
)
def test_the_check_finds_faults(tmp_path: Path, name: str, old: str, new: str, finding: str) -> None:
    shutil.copytree(SAMPLE, tmp_path / "sample")
    path = tmp_path / "sample" / "Prompts" / f"{name}_prompts.csv"
    text = path.read_text(encoding="utf-8")
    assert nfc(old) in text
    path.write_text(text.replace(nfc(old), nfc(new), 1), encoding="utf-8", newline="")
    assert any(finding in found for found in check(tmp_path / "sample"))


def test_files_are_built_from_the_items(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "lm_eval_tasks.scripts.tools.build_bangla_sample", tmp_path]
    subprocess.run(command, check=True)
    for path in (SAMPLE / "Prompts").iterdir():
        assert (tmp_path / "Prompts" / path.name).read_bytes() == path.read_bytes()


def test_canary_stands_in_the_items_and_in_the_data_statement() -> None:
    canary = re.search("canary: .*", (SAMPLE / "bangla_items.yaml").read_text(encoding="utf-8"))
    assert canary is not None
    assert canary[0] in (SAMPLE / "README.md").read_text(encoding="utf-8")
