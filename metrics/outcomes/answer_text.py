"""The part of a generated text that is the answer: no thinking, no echo of the prompt, no role tokens, no next turn.

Rules, in this order:
1. Channels of gpt-oss, with their marks or printed without them ("analysis…assistantfinal…"): only the final one counts.
2. Closed thinking blocks are removed, whoever made the model. A closing mark alone ends a block that the template opened in
   the prompt: what precedes it is removed too.
3. Role tokens and headers of an assistant's turn at the start are dropped; where a user's turn stands there, it is dropped up
   to the assistant's. At the first other role token or header of a turn the answer ends.
4. A block that is still open then means that thinking never ended: no answer was given.
5. The prompt, or its end, repeated at the start is removed. A repeated statement without the end of the prompt stays: it may be
   the answer.
6. Where the model marks its answer (`<answer>…</answer>`, `<response>…`, a box), the last one marked is the answer.
"""

import re

_FLAGS = re.IGNORECASE | re.DOTALL | re.MULTILINE
# Rule 2. Qwen, DeepSeek, Exaone, Reka, Claude, Seed, LongCat and others: one form of tag under many names, some with a prefix.
_TAG = (
    r"(?:[a-z]{2,12}[:_])?(?:think|thinking|thinks|thought|thoughts|thought_process|reason|reasoning|reflection|analysis|scratchpad"
    r"|inner_thoughts|monologue|chain_of_thought|cot|think_fast|think_faster)"
)
_BLOCKS = (  # opening, closing
    (rf"<(?P<tag>{_TAG})(?: [^<>]*)?>", r"</(?P=tag)>"),
    (r"<[|｜](?P<bar>think|thinking|thought|reasoning)[|｜]>", r"<[|｜](?:/|end_?(?:of_)?)(?P=bar)[|｜]>"),
    (r"<\|(?:start|begin)_(?:of_)?(?:think|thinking|thought)\|>", r"<\|end_(?:of_)?(?:think|thinking|thought)\|>"),
    (r"\[think\]", r"\[/think\]"),  # Magistral
    (r"◁think▷", r"◁/think▷"),  # Kimi
    (r"<\|inner_prefix\|>", r"<\|inner_suffix\|>"),  # Apertus
    (r"<unused94>", r"<unused95>"),  # MedGemma
    (r"<\|channel>", r"<channel\|>"),  # Gemma
    (r"\[unused16\]", r"\[unused17\]"),  # Pangu
    (r"<\|im_start\|>\s*think\b", r"<\|im_start\|>\s*answer\b"),  # s1
    (r"\A\s*here(?: is|'s) my thought process:", r"^[*# ]{0,8}here(?: is|'s) my response:"),  # Granite
    (r"\A\s*thinking(?:\.\.\.|…)$", r"(?:\.\.\.|…)done thinking\.$"),  # Ollama
)
_CLOSINGS = "|".join([rf"</{_TAG}>", r"<[|｜]/(?:think|thinking|thought|reasoning)[|｜]>", *(end for _, end in _BLOCKS[2:])])
_OPENINGS = "|".join(re.sub(r"\?P<\w+>", "?:", opening) for opening, _ in _BLOCKS)
# Rule 1. Case matters without marks: "analysisThe user", "finalYes" are glued, "Analysis: the" and "finally" are ordinary text.
_OPEN_CHANNEL = re.compile(r"(?:<\|channel\|>|\A)\s*(?:analysis|commentary)\b[^<]*<\|message\|>", _FLAGS)
_FINAL_CHANNEL = re.compile(r"(?:<\|channel\|>|\A)\s*final\b.*?<\|message\|>", _FLAGS)
_BARE_CHANNEL = re.compile(r"\A\s*(?:assistant\s*)?(?:(?i:analysis|commentary)(?=[^\W\d_])|analysis\s+(?=[^\Wa-z\d_]))")
_BARE_ANALYSIS = re.compile(r"\A\s*(?:assistant\s*)?(?:analysis|commentary)", re.IGNORECASE)
_BARE_FINAL = re.compile(r"assistant\s*final", re.IGNORECASE)
_GLUED_FINAL = re.compile(r"\A\s*(?:assistant\s*final|final(?=[^\Wa-z\d_]))")
# Rule 3.
_ASSISTANT, _USER = (
    "(?:assistant|model|bot|chatbot|ai|ассистент|бот|সহকারী)",
    ("(?:user|human|system|tool|пользователь|человек|система|ব্যবহারকারী)"),
)
_TOKEN = (
    rf"(?!{_OPENINGS})"
    r"(?:<[|｜][^<>|｜\n]{1,40}[|｜]>|</?s>|<(?:bos|eos|pad|unk|end_of_turn|start_of_turn|end_of_utterance|extra_id_\d)>|\[/?(?:inst|sys)\]"
    r"|<</?sys>>|\[(?:bos|eos|pad|cls|sep)\])"
)
_OPENS_ANSWER = r"<\|(?:begin_of_(?:box|solution|answer)|start_(?:response|text)|message)\|>"
_USER_TURN = (
    rf"(?:{_TOKEN}\s*{_USER}\b|<[|｜](?:user|human|system|user_token|system_token)[|｜]>|\[inst\]|<\|start_header_id\|>\s*{_USER}\b"
    rf"|^ {{0,3}}#{{1,6}} *(?:instructions?|input|question|{_USER})\b|^(?:{_USER}|instruction) ?:|^user$)"
)
_ASSISTANT_TURN = (
    rf"(?:{_TOKEN}\s*{_ASSISTANT}\b(?:<\|end_header_id\|>)?|<[|｜](?:{_ASSISTANT}|chatbot_token)[|｜]>|\[/inst\]"
    rf"|^ {{0,3}}#{{1,6}} *(?:response|answer|output|{_ASSISTANT})\b ?:?|^{_ASSISTANT} ?:|^{_ASSISTANT}$)"
)
_USER_FIRST = re.compile(rf"\A\s*(?:(?!{_USER_TURN}){_TOKEN}\s*)*{_USER_TURN}(?:.*?{_ASSISTANT_TURN}|.*)", _FLAGS)
_LEADING = re.compile(rf"\A\s*(?:(?:{_ASSISTANT_TURN}|(?!{_USER_TURN}){_TOKEN})\s*)+", _FLAGS)
# A template that lost its special tokens leaves "Yesassistant" and a new line.
_NEXT_TURN = re.compile(
    rf"{_TOKEN}|{_USER_TURN}|{_ASSISTANT_TURN}|(?<=\S)assistant$|(?<=\n)(?:next )?(?:q|question|вопрос|প্রশ্ন) ?:", _FLAGS
)
# Rule 5. A word is what stands between spaces and punctuation; `\w` would split Bangla words.
_WORD = re.compile(r"[^\s!-/:-@\[-`{-~«»“”„‘’।॥…—–]+")
_SHORTEST_ECHO = 3
# Rule 6.
_MARKED = re.compile(r"<(answer|final_answer|response|output|conclusion|summary|final)>(.*?)(?:</\1>|\Z)", _FLAGS)
_BOXED = re.compile(r"\\boxed\s*\{((?:[^{}]|\{[^{}]*\})*)\}")
_IN_BOX = re.compile(r"\\(?:text|textbf|mathrm|mathbf)\s*\{([^{}]*)\}")


def answer_part(text: str, prompt: str | None = None, *, shortest_echo: int = _SHORTEST_ECHO) -> str | None:
    """The answer within one generated text, without white space around it; None where thinking never ended.

    `prompt` is the question that was asked, if known: only then can its echo be told from an answer. An empty result means
    that nothing was answered, for example because only the prompt was repeated. Letter case is kept. `shortest_echo` is how
    many of the prompt's last words make an echo: more where the prompt ends in the texts that can be chosen.
    """
    final = _final_channel(text)
    if final is None:
        return None
    # Without any closing mark each opening would search the whole text for one.
    for opening, closing in _BLOCKS if re.search(_CLOSINGS, final, flags=_FLAGS) else ():
        final = re.sub(f"{opening}.*?{closing}", "\n", final, flags=_FLAGS)
    final = re.split(_CLOSINGS, final, flags=_FLAGS)[-1]
    turn = _own_turn(final)
    if re.search(_OPENINGS, turn, flags=_FLAGS):
        return None
    return _marked(_without_echo(turn, prompt, shortest_echo) if prompt else turn).strip()


def _final_channel(text: str) -> str | None:
    """Rule 1: the final channel, or the text itself where it has no channels."""
    marked, bare = _FINAL_CHANNEL.search(text), list(_BARE_FINAL.finditer(text))
    if _OPEN_CHANNEL.search(text):
        return text[marked.end() :] if marked else None
    if _BARE_ANALYSIS.match(text) and bare:
        return text[bare[-1].end() :]
    if _BARE_CHANNEL.match(text):
        return None
    return text[marked.end() :] if marked else _GLUED_FINAL.sub("", text)


def _own_turn(text: str) -> str:
    """Rule 3: the assistant's first turn."""
    text = re.sub(_OPENS_ANSWER, "\n", text, flags=_FLAGS)
    text = _LEADING.sub("", _USER_FIRST.sub("", text, count=1), count=1).lstrip()
    end = _NEXT_TURN.search(text)
    return text[: end.start()] if end else text


def _without_echo(text: str, prompt: str, shortest: int) -> str:
    """Rule 5: the text after the prompt, or after its last words, if it starts with them."""
    asked = [word.casefold() for word in _WORD.findall(prompt)]
    found = list(_WORD.finditer(text))
    said = [match.group().casefold() for match in found[: len(asked)]]
    for n in range(len(said), shortest - 1, -1):
        if said[:n] == asked[-n:]:
            return re.sub(r"\A[.?!…”»\"'’)\]]+", "", text[found[n - 1].end() :])
    return text


def _marked(text: str) -> str:
    """Rule 6: the inside of the last marked answer, or the text itself."""
    tagged, boxed = _MARKED.findall(text), _BOXED.findall(text)
    if tagged:
        return str(tagged[-1][1])
    return _IN_BOX.sub(r"\1", boxed[-1]) if boxed else text
