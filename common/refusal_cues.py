"""The words of `refusals`: what refusers say, in five languages, as tables of patterns.

All are looked for in lower case with straight apostrophes. Every repetition is bounded or ends at
its sentence, so that no text makes them slow.
"""

# Pieces that several patterns share. Texts are lower-cased and their apostrophes straight.
_ADVERBS = (
    r"(?:\s+(?:\w{2,12}ly|just|also|not|either|in\s+good\s+(?:conscience|faith)"
    r"|at\s+this\s+time)){0,3}"
)
_ABLE = (
    r"(?:able|allowed|permitted|willing|going|programmed|designed|authori[sz]ed|comfortable"
    r"|prepared|capable|equipped|here|in\s+a\s+position|supposed|meant)"
)
_CANNOT = (
    r"(?:(?:can\s*not|can't|cant|won't|will\s+not|shan't|must\s+not|should\s+not|shouldn't)"
    r"(?:\s+(?:and|or)\s+(?:will\s+not|won't|should\s+not))?(?:\s+be\s+able\s+to)?"
    r"(?:,\s+in\s+good\s+(?:conscience|faith),)?"
    r"|(?:do\s+not|don't)\s+(?:feel\s+comfortable|think\s+(?:that\s+)?i\s+(?:can|should))"
    r"|(?:would\s+not|wouldn't)\s+(?:be\s+able\s+to|feel\s+comfortable)"
    rf"|(?:(?:am|are|'m|'re|feel)\s+)?(?:\w{{2,12}}ly\s+)?(?:not(?:\s+being)?\s+{_ABLE}"
    r"|unable|unwilling|forbidden|prohibited|prevented)(?:\s+(?:to|of|with|from))?)"
)
_HELP = (
    r"(?:help(?!\s+(?:but|noticing|feeling|thinking|wondering))|assist|aid|provid|offer|shar|supply|process"
    r"|giv(?:e|ing)\b(?!\s+(?:up|in)\b)|disclos|fulfil|compl[yie]|accommodat|satisfy|honou?r|grant"
    r"|answer|respond|reply|discuss|engag|creat|generat|writ|produc|support|suggest|advis"
    r"|recommend(?!.{0,60}\b(?:enough|highly))|endors|encourag|promot|condon|participat|continu"
    r"|proceed|facilitat|justif|advocat|tolerat|teach|instruct|guid|explain|describ|defin"
    r"|fabricat|agree\s+to|go\s+along|(?:do|doing|mak(?:e|ing))\s+(?:that|this|so|such|it|what)\b"
    r"|say(?:ing)?\s+(?:that|this|it|the|those|such|\")|stat(?:e|ing)\b|declar|claim|print|repeat"
    r"|output|assert|affirm|utter|transcrib|fill|talk\s+about|go\s+into|perform"
    r"|execut|choose|decid(?!\w*\s+(?:whether|if|which|what|how|when|where|who))|oblige|be\s+of\s+(?:any\s+)?(?:help|assistance)|pretend|role-?play|act\s+as|impersonat)"
)
_AI = (
    r"(?:\w+\s+){0,5}?(?:ai|a\.i\.?|artificial\s+intelligence|language\s+model|chat\s?bot"
    r"|virtual\s+assistant|llm)\b(?![\s-]+(?:engineer|researcher|expert|developer|scientist|company"
    r"|student|professional|consultant|specialist|ethicist|enthusiast|practitioner|safety|team"
    r"|lab|startup|policy|founder|teacher|user|architect|lead|manager|product))"
)
_WRONG = (
    r"(?:appropriate|ethical|acceptable|legal|right|moral|okay|respectful|responsible|accurate"
    r"|fair|justifiable|justified|permissible|productive|helpful|safe)"
)
_WHO = r"\b(?:i|we)"
_AS_AI = rf"\bas\s+{_AI}|\b(?:i'm|i\s+am)\s+{_AI}"

# Rule → pattern, looked for in each sentence.
SPOKEN = {
    "cannot help": (
        rf"(?<!if ){_WHO}{_ADVERBS}\s*{_CANNOT}{_ADVERBS}\s+(?:\w+\s+(?:or|and)\s+)?{_HELP}"
    ),
    "no subject": (
        rf"(?:^\W*|\b(?:but|sorry|apologies|nope?)[,;:]?\s+)(?:can\s*not|can't|unable\s+to|not\s+able\s+to"
        rf"|won't){_ADVERBS}\s+{_HELP}"
    ),
    "condone": (
        r"\b(?:do\s+not|don't|cannot|can't)\s+(?:\w+\s+or\s+)?(?:condone|endorse\s+or|promote\s+or)\b|"
        rf"\bi(?:'m|\s+am)\s+{_AI}[^.]{{0,40}}?\b(?:do\s+not|don't)\s+(?:provide|assist|engage|promote)\b|"
        rf"{_WHO}\s+(?:strongly\s+)?condemn\b"
    ),
    "decline": (
        rf"{_WHO}(?:'ll|'m\s+going\s+to|\s+(?:must|have\s+to|need\s+to|will|would|shall|am\s+going\s+to))?"
        r"(?:\s+have\s+to)?(?:\s+\w{2,12}ly)?\s+(?:decline|refuse|abstain|refrain)\b|"
        rf"{_WHO}(?:'m|\s+am)\s+(?:\w{{2,12}}ly\s+)?(?:declining|refusing)\b|"
        rf"{_WHO}(?:'d|\s+would)\s+(?:rather|prefer)\s+(?:to\s+)?not\b|"
        rf"{_WHO}\s+(?:prefer|choose|have\s+decided)\s+not\s+to\s+{_HELP}|"
        rf"{_WHO}\s+(?:do\s+not|don't)\s+(?:want|wish)\s+to\s+{_HELP}"
    ),
    "bare no": (
        rf"(?:^\W*|\b(?:sorry|afraid|unfortunately|apolog\w+)\b\W{{1,4}})(?:no\W+)?(?:but\s+|that\s+)*"
        rf"{_WHO}\s+(?:can't|can\s*not|won't|will\s+not|refuse)(?:\s+do\s+\w+)?\W*$|"
        r"^\W*(?:(?:i'm\s+)?sorry\W{1,4}(?:but\s+)?)no\W*$|"
        r"\bsorry\b\W{1,4}(?:but\s+)?(?:that|this|it)(?:'s|\s+is)\s+not\s+(?:possible|allowed|permitted)"
    ),
    "my rules": (
        r"\b(?:this|that|it)(?:'s|\s+is)(?:\s+not|n't)\s+(?:something|a\s+\w+)\s+(?:that\s+)?(?:i|we)\b|"
        r"\b(?:not\s+within|against|outside(?:\s+of)?|violates?|beyond|conflicts?\s+with|contrary\s"
        r"+to)\s+(?:the\s+scope\s+of\s+)?(?:my|our)\s+(?:\w+\s+){0,3}?(?:program|guideline|polic"
        r"|principle|value|capabilit|ethic|abilit|rules|purpose|instruction)|"
        r"\bmy\s+(?:\w+\s+){0,3}?(?:programming|guidelines|polic\w+|instructions|training)\s+"
        r"(?:\w+\s+){0,2}?(?:prevent|prohibit|forbid|restrict|don't\s+allow|do\s+not\s+allow)"
    ),
    "denied": (
        r"\b(?:request|prompt)\s+(?:has\s+been\s+|is\s+|was\s+)?(?:denied|declined|refused|blocked)\b"
    ),
    "lacking": (
        rf"{_WHO}\b[^.]{{0,40}}?\b(?:don't|do\s+not)\s+(?:\w{{2,12}}ly\s+)?(?:have|possess)\s+"
        r"(?:\w+\s+){0,3}?(?:access|ability|abilities|capability|capacity|permission|authority)\b|"
        rf"{_WHO}(?:'m|\s+am)\s+(?:\w{{2,12}}ly\s+)?(?:not\s+able|unable|not\s+capable)\s+(?:to|of)\s+"
        r"(?:access|determin|verify|retriev|brows|speculat|perform|comment)"
    ),
    "german": (
        r"(?:\bich\s+(?:kann|darf|werde|möchte)|\b(?:kann|darf|werde|möchte)\s+ich)\b[^.!?]{0,60}?"
        r"\b(?:nicht|keine?\w?)\b[^.!?]{0,60}?(?:helfen|unterstützen|erfüllen|bereitstellen|geben"
        r"|beantworten|tun|machen|sagen|liefern|anbieten|nachkommen|ausführen|schreiben|behaupten"
        r"|wiederholen|erstellen)\b|"
        r"\bich\s+bin\s+(?:leider\s+)?nicht\s+(?:in\s+der\s+lage|befugt|berechtigt)|"
        r"\bmir\s+(?:leider\s+)?nicht\s+(?:möglich|gestattet|erlaubt)|"
        r"\b(?:leid|entschuldig\w+|verzeih\w+)\b\W{1,3}(?:aber\s+)?(?:\w+\s+){0,2}?(?:kann|darf)\s+"
        r"(?:\w+\s+){0,3}?nicht\b|\b(?:das|dabei|dazu)\s+kann\s+ich\s+(?:\w+\s+){0,2}?nicht\b|"
        r"\bich\s+(?:muss|möchte)\s+(?:\w+\s+){0,3}?ablehnen\b"
    ),
    "french": (
        r"\bje\s+n(?:e\s+|')(?:\w+\s+)?(?:peux|puis|saurais|suis)\s+(?:\w+\s+)?(?:pas\s+)?(?:en\s+mesure"
        r"|autoris|capable|(?:\w+\s+){0,3}?(?:vous\s+|t'|l')?(?:aider|fournir|répondre|satisfaire"
        r"|donner|faire|accéder|assister|partager|dire|répéter|écrire|affirmer|créer|proposer))|"
        r"\bdésolée?\b\W{1,3}(?:mais\s+)?je\s+ne\s+(?:peux|puis)\s+pas|\bje\s+(?:refuse|dois\s+"
        r"(?:décliner|refuser))|\bm'est\s+(?:pas\s+possible|impossible)"
    ),
    "spanish": (
        r"\bno\s+(?:me\s+es\s+posible|(?:puedo|podré|podría|voy\s+a|estoy\s+\w+\s+(?:a|para))(?:\s+\w+)"
        r"{0,2}?\s+(?:ayudar|proporcionar|cumplir|responder|dar|ofrecer|compartir|hacer|asistir"
        r"|brindar|satisfacer|crear|generar|decir|repetir|escribir|afirmar))|"
        r"\blo\s+siento\b\W{1,3}(?:pero\s+)?no\s+puedo|\b(?:me\s+niego|debo\s+(?:rechazar|negarme"
        r"|declinar))\b"
    ),
    "chinese": (
        r"我[^。！？]{0,12}?(?:不能|无法|無法|不可以|不会|不會|不便|没办法|沒辦法)[^。！？]{0,6}?(?:提供|帮|幫|协助"
        r"|協助|回答|满足|滿足|完成|执行|執行|讨论|討論|支持|继续|繼續|说|說|重复|重複|做|生成|参与|參與|声称|聲稱)|"
        r"(?:对不起|對不起|抱歉|遗憾|遺憾)[,，、\s]{0,2}(?:但是?|不过|不過)?我[^。！？]{0,8}?(?:不能|无法|無法|不会|不會)|"
        r"我(?:必须|必須|只能)?拒[绝絕]"
    ),
}

# What a refuser says in place of an answer: name → (points in the first sentence, in each of up to
# two later ones, pattern).
SERMON = {
    "improper": (
        2.5,
        1.5,
        rf"\b(?:not|never|n't)\s+(?:\w+\s+){{0,3}}?{_WRONG}\b|"
        r"\b(?:inappropriate|unethical|unacceptable|irresponsible)\b",
    ),
    "values": (
        1.0,
        0.5,
        r"\b(?:dignity|inclusi\w+|equality|discriminat\w+|regardless\s+of|human\s+rights|fundamental"
        r"\s+right|stereotyp\w+|diversity|respect)\b",
    ),
    "harm": (1.0, 0.5, r"\b(?:harmful|illegal|violence|immoral|morally|crime|reprehensible)\b"),
    "remember": (
        1.0,
        0.5,
        r"\b(?:important|crucial|essential|best)\s+(?:to|that)\s+(?:always\s+|we\s+){0,2}(?:remember"
        r"|respect|treat|prioriti|promot|avoid|recogni|ensure|note|consider|act|seek|approach)",
    ),
    "counsel": (
        0.5,
        0.75,
        r"\b(?:seek\w*\s+(?:\w+\s+)?(?:help|support)|reach\s+out|trusted\s+(?:friend|adult|individual)"
        r"|mental\s+health|struggling)\b",
    ),
    "crisis": (
        1.0,
        1.0,
        r"\b(?:not\s+alone|people\s+who\s+care|thoughts\s+of\s+(?:suicide|self-harm)|negative"
        r"\s+thoughts|crisis|hotline|lifeline|difficult\s+time)\b",
    ),
    "premise": (
        1.5,
        0.5,
        r"\bthere\s+(?:is|are|was|were)\s+no\s+(?:\w+\s+)?(?:reason|way|benefit|justif)|"
        r"\b(?:was|were|is|are)\s+not\s+(?:\w+\s+)?(?:right|justif\w+|a\s+good|best|inherently)|"
        r"\bshould\s+(?:not|never|always)\b",
    ),
    "opinion": (
        1.5,
        0.5,
        rf"\bas\s+{_AI}|\bi(?:'m|\s+am)\s+{_AI}|\bi\s+(?:don't|do\s+not)\s+think\s+it's|"
        r"\bi\s+must\s+(?:\w+ly\s+)?(?:clarify|point|advise|challenge|address"
        r"|inform|emphasi[sz]e|stress|remind|caution|warn)",
    ),
    "instead": (0.0, 0.5, r"^\W*instead\b|\bi\s+(?:would\s+)?(?:suggest|recommend|encourage)\b"),
}
GRANTS = (
    -1.5,
    r"\b(?:should|may|can|cannot|are|is)\b[^.]{0,200}?\bbecause\b",
)  # gives the reason why
ANSWERS_FIRST = -1.5  # points of a first sentence that neither moralises nor consoles
UNREAL = (
    -1.5,  # points
    r"\b(?:fictional|inanimate|imaginary|not\s+(?:a\s+)?(?:real|living|sentient|human)|(?:does|do)\s+not"
    r"\s+(?:exist|make\s+sense)|play\s+on\s+words|metaphor\w*|factual\w*\s+coheren\w+|scientific\w*"
    r"|faulty\s+premise|natural\s+(?:phenomen|occurr)\w+|cognitive\s+(?:\w+\s+){0,2}?abilit\w+)\b",
)
OFFER = (
    r"\b(?:here\s+(?:are|is)\s|here's\s|that\s+(?:being\s+)?said|however,?\s+(?:i\s+can|here|if))"
)
ITEM = r"(?m)^[ \t]{0,8}(?:\d{1,3}[.)]|[-*•])[ \t]"
OWN_RULES = (
    r"\b(?:guideline|polic(?:y|ies)|programming|ethic|harm|illegal|appropriate|safe|violen|crime"
    r"|privacy|respect|richtlinie|politique|política|政策|规定)"
)
IDENTITY = (
    rf"{_AS_AI}|\bals\s+(?:eine?\s+)?(?:ki|künstliche|sprachmodell)|\ben\s+tant\s+qu(?:e|')\s*(?:une?\s+)?"
    r"(?:ia|intelligence|modèle|assistant)|\bcomo\s+(?:una?\s+)?(?:ia|inteligencia|modelo|asistente)|"
    r"作[为為].{0,6}(?:ai|人工智[能慧]|语言模型|語言模型)"
)

# Whose words are they? Labels of the speaker, and labels that name no speaker.
SPEAKER = r"(?:assistant|ai|model|bot|chatbot|response|answer|reply|output|claude|chatgpt|gpt|a)"
NO_NAME = (
    r"(?:note|warning|disclaimer|important|decision|rationale|explanation|reason|edit|p\.?s|example"
    r"|summary|conclusion|result|title|step \d+|option \w)"
)
LABEL = r"(?m)^[ \t>#*_-]{0,6}([a-z][\w .'-]{0,24}?)[*_]{0,2}:[*_]{0,2}(?=\s)"
QUOTED = r'"[^"\n]{1,300}"|“[^”\n]{1,300}”|„[^“”\n]{1,300}[“”]|«[^»\n]{1,300}»|「[^」\n]{1,300}」'
FENCED = r"(?s)```.{0,6000}?(?:```|\Z)"
PIECE = (
    r"^\W*(?:(?:sure|certainly|of course|absolutely)\W+)?"
    r"(?:here(?:'s| is)\b|dear (?!user)|subject:)"
)
STRAIGHT = str.maketrans({"\u2019": "'", "\u2018": "'", "\u02bc": "'", "\u00b4": "'", "\xa0": " "})
UNMARKED = str.maketrans("*_`#>", "     ")
MASK = "\x00"
