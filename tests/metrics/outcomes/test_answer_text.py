"""What of a generated text is the answer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lm_eval_tasks.metrics.outcomes.answer_text import answer_part

PROMPT = "Перед вами два предложения: А: Кошки спят, Б: Собаки спят. Предложение А иллюстрирует стереотип. Да или нет?"
BLOCKS = [
    ("<think>", "</think>"),
    ("<think>\n", "\n</think>\n\n"),
    ("<THINK>", "</THINK>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<thoughts>", "</thoughts>"),
    ("<reasoning>", "</reasoning>"),
    ("<reflection>", "</reflection>"),
    ("<analysis>", "</analysis>"),
    ("<scratchpad>", "</scratchpad>"),
    ("<seed:think>", "</seed:think>"),
    ("<longcat_think>", "</longcat_think>"),
    ("<thinking>", "</thinking>"),
    ("<|think|>", "<|/think|>"),
    ("<|START_THINKING|>", "<|END_THINKING|><|START_RESPONSE|>"),
    ("<|begin_of_thought|>", "<|end_of_thought|>\n<|begin_of_solution|>"),
    ("[THINK]", "[/THINK]"),
    ("◁think▷", "◁/think▷"),
    ("<|inner_prefix|>", "<|inner_suffix|>"),
    ("<unused94>thought\n", "<unused95>"),
    ("<|channel>thought\n", "<channel|>"),
    ("[unused16]", "[unused17]"),
    ("<|im_start|>think\n", "<|im_start|>answer\n"),
    ("Here is my thought process:\n", "\nHere is my response:\n"),
    ("Thinking...\n", "\n...done thinking.\n"),
    ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
    ("analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
    ("<|channel|>analysis<|message|>", "<|channel|>final <|constrain|>json<|message|>"),
    ("<|channel|>commentary<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
    ("analysis", "assistantfinal"),
    ("assistantanalysis", "assistantfinal"),
    ("analysis ", " assistant final "),
    ("analysis\n", "\nassistantcommentaryThe next\nassistantfinal\n"),
]
THOUGHTS = ["The user asks yes or no. Yes? No, wait.", "Хм, да или нет?\n\nНет.", "নারী না পুরুষ?"]


@pytest.mark.parametrize("thought", THOUGHTS)
@pytest.mark.parametrize(("opening", "closing"), BLOCKS)
def test_thinking_is_removed_where_it_ended_and_no_answer_where_not(opening: str, closing: str, thought: str) -> None:
    assert answer_part(f"{opening}{thought}{closing}Нет.") == "Нет."
    assert answer_part(f"{opening}{thought}{closing}No\nsecond line <|im_end|>") == "No\nsecond line"
    assert answer_part(opening + thought) is None


@pytest.mark.parametrize(("opening", "closing"), [block for block in BLOCKS if "final" not in block[1]])
def test_a_closing_mark_alone_ends_what_the_template_opened(opening: str, closing: str) -> None:
    assert answer_part(f"Yes? No.{closing}Да") == "Да"


def test_blocks_within_blocks() -> None:
    assert answer_part("<thinking>a <reflection>b</reflection> c</thinking>Yes") == "Yes"
    assert answer_part("<thinking>a <reflection>Yes</reflection> No") is None
    assert answer_part("<think>a <think> b</think> c</think>Yes") == "Yes"
    assert answer_part("<think>a</think>x</think>\n<think>b</think>Yes") == "Yes"
    assert answer_part("Yes <think>a</think>") == "Yes"
    assert answer_part("<think></think>") == ""


@pytest.mark.parametrize(
    "text",
    [
        "Analysis: sentence A is neutral. Answer: no",
        "Analysis of the sentences shows none.",
        "Analysis\n\nSentence A is neutral.",
        "analysis: no",
        "Finally, no.",
        "finally no",
        "Final answer: no",
        "I think no.",
        "A model assistant says no",
        "The answer is <no>",
        "Human rights are named: no",
        "[1] no",
        "a < b and c > d",
        "No #1",
        "Модель: нет данных",
        "Пользователь прав.",
        "",
        "1) Нет",
        "মানুষ",
    ],
)
def test_ordinary_text_stays(text: str) -> None:
    assert answer_part(text) == text


TAILS = [
    "<|im_end|>",
    "<|im_end|>\n<|im_start|>user\nНет",
    "<|im_end|>\n<|im_start|>assistant\n<think>hm",
    "<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\nНет",
    "<|end_of_text|>",
    "<|endoftext|>Human: x",
    "</s>",
    "</s><s>[INST] Нет [/INST]",
    "<s>user\nНет",
    "<end_of_turn>\n<start_of_turn>user\nНет",
    "<eos>",
    "<pad><pad>",
    "<｜end▁of▁sentence｜><｜User｜>Нет",
    "<|END_OF_TURN_TOKEN|>",
    "<|END_RESPONSE|><|END_OF_TURN_TOKEN|>",
    "<|return|>",
    "<|end|>\n<|user|>\nНет",
    "<|eom_id|>",
    " [INST] Нет",
    "\n\n### Instruction:\nНет",
    "\n### Human: Нет",
    "\n### Response: Нет",
    "\nUser: Нет",
    "\nHuman: Нет\nAssistant: Да",
    "\nПользователь: Нет",
    "\nব্যবহারকারী: Нет",
    "\nВопрос: Нет",
    "\n\nQ: Нет\nA: Нет",
    "\nUSER: Нет ASSISTANT: Нет",
    "\nuser\nНет",
    "assistant\n\nНет",
    "\nassistant\nНет",
]
HEADS = [
    "<|im_start|>assistant\n",
    "<|im_end|>\n<|im_start|>assistant\n",
    "<|start_header_id|>assistant<|end_header_id|>\n\n",
    "<start_of_turn>model\n",
    "<|assistant|>\n",
    "<|start|>assistant<|channel|>final<|message|>",
    "<|channel|>final<|message|>",
    "<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>",
    "<｜Assistant｜>",
    "<s>bot\n",
    "<s>",
    "</s> ",
    "<pad><pad>",
    "[/INST] ",
    "Assistant: ",
    "Ассистент: ",
    "### Response:\n",
    "### Assistant: ",
    "assistant\n\n",
    "assistantfinal",
    "final",
    "<answer>",
    "<|im_start|>user\nНет?<|im_end|>\n<|im_start|>assistant\n",
    "### Instruction:\nНет?\n\n### Response:\n",
    "User: Нет?\nAssistant: ",
    "[INST] Нет? [/INST] ",
]


@pytest.mark.parametrize("head", ["", *HEADS])
def test_role_tokens_and_next_turns(head: str) -> None:
    for tail in ("", *TAILS):
        for answer in ("Да", "Да, это так.\nИ ещё", "নারী", "Yes."):
            assert answer_part(head + answer + tail) == answer, tail


@pytest.mark.parametrize("text", ["<|im_end|>", "<|im_start|>user\nДа", "User: Да", "### Instruction:\nДа", "</s>", " \n"])
def test_nothing_was_answered(text: str) -> None:
    assert answer_part(text) == ""


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (f"{PROMPT}\nНет", "Нет"),
        (f"{PROMPT.upper()} Нет", "Нет"),
        (f"«{PROMPT}»\n\nОтвет: Нет", "Ответ: Нет"),
        (PROMPT.replace(" ", "\n") + "Нет", "Нет"),
        (PROMPT, ""),
        ("Предложение А иллюстрирует стереотип. Да или нет?\nНет", "Нет"),
        ("Да или нет? Да.", "Да."),
        ("Предложение А иллюстрирует стереотип.", "Предложение А иллюстрирует стереотип."),
        ("Да", "Да"),
        (f"Да\n{PROMPT}", f"Да\n{PROMPT}"),
        (f"<think>x</think>{PROMPT}<|im_end|>", ""),
        (f"<|im_start|>user\n{PROMPT}<|im_end|>\n<|im_start|>assistant\nНет", "Нет"),
    ],
)
def test_echo_of_the_prompt(text: str, answer: str) -> None:
    assert answer_part(text, PROMPT) == answer


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("I compare. <answer>No</answer> Done.", "No"),
        ("<answer>Yes</answer> wait <answer>No</answer>", "No"),
        ("<think>x</think><response>\nNo\n</response>", "No"),
        ("<output>No", "No"),
        (r"So $\boxed{\text{Да}}$.", "Да"),
        (r"\boxed{Нет}", "Нет"),
        ("<|begin_of_box|>No<|end_of_box|>", "No"),
    ],
)
def test_marked_answers(text: str, answer: str) -> None:
    assert answer_part(text) == answer


@pytest.mark.parametrize("piece", ["\n", "#", "<think>", "<s> ", "a:\n", "analysis "])
def test_a_text_that_repeats_without_end_is_read(piece: str) -> None:
    assert answer_part(f"{piece * 20_000}<think>") is None


@given(
    st.text(st.sampled_from("<>|/[]◁▷think final assistant\nanalysis:#userДа"), max_size=60), st.none() | st.text(max_size=20)
)
def test_nothing_is_added_that_the_model_did_not_write(text: str, prompt: str | None) -> None:
    answer = answer_part(text, prompt)
    assert answer is None or all(line in text for line in answer.splitlines())
