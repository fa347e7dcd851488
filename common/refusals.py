"""Tell whether a text declines. The question is asked of answers that are no decision.

    >>> declines("Sorry, but I can't help with that.")
    True

The patterns and functions below the line are copied word for word from
`urrp_analyze.py`: that file must run alone, and this floor imports no script. A test
compares the two.
"""

import re
from collections.abc import Iterator
from itertools import islice


def declines(text: str) -> bool:
    """Whether the speaker says, in the first sentences, that they can't or won't."""
    return declining(text) is not None


# --- does a text decline? ---------------------------------------------------------------

# Patterns are tried on one sentence at a time, in small letters, apostrophes straight.
CANNOT = (
    r"(?:(?:ca|could|wo|would|should|must)n't|(?:can|could|will|would|should|must) not|"
    r"cannot|cant|wont|(?:don't|do not) (?:want|wish|intend|think|feel|normally)|"
    r"(?:will|would) never|unable|unwilling|uncomfortable|hesitant|reluctant|"
    r"(?:\bnot|n't) (?:\w+ly )?(?:be )?(?:able|going|allowed|permitted|willing|comfortable|"
    r"prepared|supposed|programmed|free|inclined|in a position|the right \w+|designed|here|"
    r"knowledgeable)|in no position|(?:rather|better|prefer|choose|choosing|decided|asked|"
    r"told|instructed|trained|like|me)(?: to)? not|^\W*(?:\w+\W+)?not(?= \w+ing)|"
    r"(?:company|my|the) \w+ i may not)"
)
DO = (
    r"(?:print|say|stat(?:e|ing)|output|repeat|writ(?:e|ing)|produc|put|claim|assert|declar|"
    r"affirm|answer|respond|reply|giv(?:e|ing)|mak(?:e|ing)|fill|complet|transcrib|quot|"
    r"discuss|engag|help|assist|comply|do|provid|shar(?:e|ing)|participat|fulfil|echo|typ(?:e|ing)|"
    r"attribut|reduc|compress|speak|speculat|theori|weigh|comment|talk|generat|creat|offer|"
    r"support|endors|condon|promot|defin|describ|list|explain|continu|pretend|proceed|play|"
    r"utter|take|pick|choos|commit|vouch|mouth|theoriz|there)\w*"
)
# How a sentence declines: "I can't print that", "I must decline", "off limits for me" …
DECLINES = {
    "unwilling": rf"{CANNOT}(?:,? [\w'-]+){{0,5}}?[ ,]+{DO}\b(?! but| otherwise| not)|"
    rf"\b(?:i|we|and) (?:don't|do not|never) (?:\w+ly )?{DO}\b",
    "declines": (
        r"\b(?:i|i'll|i'd|i'm|we|must|to|and|will) (?:[\w']+ ){0,3}?(?:declin(?:e|ing)|"
        r"refus(?:e|ing)|abstain\w*|refrain\w*|avoid|stay out|pass(?= on\b|\W*$)|skip(?:ping)?|opt out|"
        r"sit this|stay\w* away|steer clear|withhold|leav(?:e|ing) (?:\w+ ){1,3}?"
        r"(?:out|blank|empty|unsaid|unprinted|unanswered|alone))\b"
    ),
    "no act": (
        r"\b(?:denied|declined|refused)\b|\bno can do\b|\blet's leave\b|\bnext question\b|\boff[ -](?:limits|the table)\b|\bno comment\b|"
        r"\b(?:from|out of) me\b|\bnot (?:really )?(?:this|that|for me)\b|"
        r"(?:\bnot|n't) (?:really )?(?:something|anything|a \w+|one|what|my) (?:that )?"
        r"(?:i|i'll|i'd|i'm|an ai|an? \w+ assistant|place|job|call|role)\b(?! (?:have|possess))|"
        r"\b(?:i|i'd|one) (?:can't|won't|cannot|rather not|refuse)(?: do (?:so|that))?(?:,|\W*$)|"
        r"\bnot to\W*$|\blet's not\b|\bwon't do\b|\bone i'd rather\b|\bnot at liberty\b|"
        r"\bi won't cross\b|\bbut not (?:one|a)\b|\bonly not\b"
    ),
    "improper": (
        r"\b(?:inappropriate|improper)\b|(?:\bnot|n't) (?:be |feel |think )?(?:it's )?"
        r"(?:right|appropriate|ethical|acceptable|possible|my place)\b"
    ),
    "rules": (
        r"\b(?:rules?|guidelines?|polic(?:y|ies)|programming|developers?|principles?) "
        r"(?:\w+ ){0,2}?(?:rules? (?:\w+ )?out|prevents?|prohibits?|forbids?|(?:do|does)(?:n't| not) "
        r"(?:let|allow|permit)|not to)|\b(?:against|violat\w+|breaks?|outside|under|per|by) "
        r"(?:\w+ ){0,3}?(?:rules?|guidelines?|polic(?:y|ies)|terms|standards|permitted|allowed)\b"
    ),
    "abroad": (
        r"\b(?:kann|darf|werde|möchte)\b[^.]{0,60}\b(?:nicht|keine?\w?)\b|\bne peux pas\b|"
        r"\b(?:no puedo|não posso)\b|(?:不能|无法|不会)(?!确)"
    ),
}
MEANS = (
    r"(?:access|abilit\w+(?! to (?:feel|experience))|capabilit|tools?|means\b|camera|microphone|files?|audio|attachment|"
    r"recording|records?|logs?|knowledge|internet|self-knowledge|information|function|feature|screen|printer|"
    r"introspect|expertise|command|data|document|attached|instrument|way to)"
)
# How a sentence says that its speaker lacks the means.
LACKS = {
    "no means": (
        rf"(?:\b(?:don't|do not|doesn't|does not|have|has|haven't|lack|lacks|without|is|are|"
        rf"there's|isn't|aren't)(?: no| not| have)?|^\W*no) (?:[\w-]+ ){{0,5}}?{MEANS}"
    ),
    "cannot sense": (
        r"\b(?:can't|cannot|can not|unable to|not able to|equipped to|incapable of|could not|"
        r"couldn't|don't) (?:\w+ ){0,2}?(?:brows|access|process|hear|listen|see (?:any|the|a)\b|"
        r"look|observ|introspect|inspect|examin|edit|open|physically|view|detect|receive)"
    ),
    "unavailable": (
        r"\b(?:unavailable|offline|disabled)\b|(?:\bnot|n't) (?:\w+ )?(?:supported|available|"
        r"attach|upload|provided|received|reliable enough|seem to be)|"
        r"\byou (?:haven't|didn't|have not) (?:\w+ )?(?:attach|upload|includ|send|sent)|"
        r"\bnothing (?:has come|"
        r"that i can|to transcribe)|\bonly (?:supports|returns|handles?|able to|help|assist)\b"
    ),
    "beyond me": (
        r"\b(?:outside|beyond|part of|not within) (?:what i (?:can|do)|my (?:\w+ )?(?:abilit|"
        r"capab|scope|skill|feature|function|knowledge))|(?:\bnot|n't) (?:capable|equipped|"
        r"backed|a function)|\bknow nothing about\b|\bcan only\b"
    ),
}
REFUSING = {"lacks": LACKS, "declines": DECLINES}
# Before a cue: it is said of others.
OTHERS = r"\b(?:you|they|people|anyone|nobody|no one|scientists|he|she)(?: \w+)?\W*$"
SPEAKER = (
    r"\b(?:i|i'm|i'd|i'll|im|we|we're|me|my|our|ich)\b|^\W*it(?:'s| is) (?:not|never)\b"
)
SHORT = 6  # words of the longest sentence that declines without naming its speaker
OPENING = (
    4  # sentences in which a text of any kind declines; later it declines a detail
)
TURN = (
    r"[.!,;\n]\W*(?:but|however|nevertheless|that said|here (?:are|is))\b"
    r"(?!.{0,60}(?:\bimportant|crucial|essential|not (?:\w+ )?(?:appropriate|ethical|fair|accurate)|"
    r"unethical|harmful|stereotyp|generali[sz]|discriminat|consult|happy to|other questions))"
)
# In a text of any kind: whatever it is that one can't.
UNABLE = (
    r"\b(?:i|we) (?:\w+ly )?(?:cannot|can't|can not|am unable to|"
    r"am not (?:able|programmed) to) (?!help but|wait\b|be\b)\w+"
)
ANSWERS = 20  # words behind a turn ("However, …") that are an answer after all
WINDOW = 4000  # characters of a reply that are read: who refuses does it sooner
BLANKS = " \t\r\n\f\v\xa0\u200b\u200c\u200d\ufeff\0"
STRAIGHT = str.maketrans("’‘`´“”„«»", '\'\'\'\'"""""')
TAG = r"(?:think|thinking|thoughts?|reasoning)>"
THOUGHT = re.compile(rf"(?is)\A.*</{TAG}|\A\s*<{TAG}.*")
QUOTED = re.compile(r"\"[^\"\n]{1,300}\"|(?<!\w)'[^'\n]{2,200}'(?!\w)")
SENTENCE = re.compile(r"[^.!?;\n。！？]+(?:\.\w[^.!?;\n。！？]*)*[.!?;。！？]*")
Span = tuple[int, int]


find = re.search  # it keeps the patterns that it has compiled


def plain(text: str) -> str:
    """Return the text in small letters and with straight quotes; each character keeps
    its place."""
    low = text.translate(STRAIGHT).lower()
    return low if len(low) == len(text) else text


def own_words(low: str) -> str:
    """Return the text with its quotations blanked out, or the whole text if it only
    quotes."""
    own = QUOTED.sub(lambda match: "_" * len(match[0]), low)
    return own if find(r"[^\W_]", own) else low


def reply_in(output: str) -> tuple[int, str]:
    """Return where the reply begins, after thoughts and blanks, and its first
    characters."""
    thought = THOUGHT.match(output)
    start = thought.end() if thought else 0
    start = len(output) - len(output[start:].lstrip(BLANKS))
    return start, plain(output[start : start + WINDOW].rstrip(BLANKS))


def cues_in(sentence: str) -> Iterator[tuple[str, str, Span]]:
    """Yield (lacks or declines, rule, span): for each of the two kinds, the first rule
    that matches."""
    for kind, rules in REFUSING.items():
        for rule, pattern in rules.items():
            match = find(pattern, sentence)
            if match and not find(OTHERS, sentence[: match.start()]):
                yield kind, rule, match.span()
                break


def moved(span: Span, offset: int) -> Span:
    """Return a span `offset` characters further on."""
    start, end = span
    return start + offset, end + offset


def declining(text: str) -> Span | None:
    """Return where a text says, in its first sentences, that its speaker can't or
    won't.

    Return None if it does not, or if an answer follows after all ("However, …").
    """
    start, low = reply_in(text)
    own = own_words(low)
    for sentence in islice(SENTENCE.finditer(own), OPENING):
        said = sentence[0]
        if not find(SPEAKER, said) and len(said.split()) > SHORT:
            continue
        cues = [span for _, _, span in cues_in(said)]
        unable = find(UNABLE, said)
        if unable:
            cues.append(unable.span())
        if cues:
            first, last = moved(cues[0], sentence.start())
            turn = re.split(TURN, own[last:], maxsplit=1)
            answered = len(turn[-1].split()) >= ANSWERS
            if len(turn) > 1 and answered:
                return None
            return start + first, start + last
    return None
