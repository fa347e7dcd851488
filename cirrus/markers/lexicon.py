"""Words and turns of phrase by which a text reasons from likeness, or from a rival of it."""

# Concept → its words; `~` ends a stem. A word belongs to the first concept that lists it, a whole
# word before a stem, a longer stem before a shorter one.
CONCEPTS = {
    "self": """i me my mine myself we us our ours ourselves oneself you your yours yourself
        claude""",
    "other": """they them their theirs themselves it its itself he him his she her hers other
        others another counterpart~ peer~ opponent~ partner~ rival~ neighbo~ stranger~ someone
        somebody whoever colleague~ adversar~ compan~ firm~ vendor~ hospital~ pharmac~ member~
        party parties beings being civili~ people person friend~ one ones sibling~ else far
        distant elsewhere fellow~ officer~ driver~ owner~ delegate~ trader~ worker~ citizen~
        voter~ herd~ hiker~ hunter~ commuter~ lab labs coordinator~ city cities state states
        district~ ward wards bidder~ negotiator~ prisoner~ pharmacist~ surgeon~ duplicates crowd
        population""",
    "copy": """copy copies clone~ twin~ replica~ duplicate~ instance~ double doubles doppel~
        reflection~ mirror~ version~ replay image echo~ fork~ self selves embod~ sitting
        counterfactual~ near-copy lookalike simulacr~""",
    "agent": """agent~ desk~ office~ team~ player~ liaison~ reasoner~ mind~ deliberator~
        thinker~ deciders decider decision-maker~ chooser~ system~ model models program~ bot~
        robot~ ai ais creature~ actor~ gpt~ llm~ assistant~ organi~ site~ unit~ side sides seat~
        manager~""",
    "same": """same identical~ alike similar~ similarly like-minded equal~ likewise parallel~
        coincid~ converg~ symmetr~ shared share shares sharing common exactly equivalent~
        isomorph~ analogous~ indistinguish~ resembl~ uniform~ interchangeable kindred match~
        akin comparable~ relevantly congruen~ literally precisely very duplicate copied
        corresponding~ homogen~ functionally like parity level exact likeness even evenly""",
    "mind": """reason~ think~ thought~ deliberat~ logic~ algorithm~ procedure~ process~
        computation~ comput~ weights train~ code method~ argument~ inference~ dispos~ architect~
        function~ mindset wiring wired brain~ source consider~ manual steps line circumstance~
        input~ prompt~ parameter~ checkpoint~ values facts incentives notice notices information
        evidence-base upbringing design built raised cognit~ heuristic~ chain rational~ brief
        briefed briefing instruct~ analys~ data figures ground grounds habit~ view views advice
        question~ premise~ theory training~ temperature step stack protocol~ reading calcul~""",
    "place": """position~ situation~ situated shoes place~ boat spot predicament standing stand~
        footing seat perspective vantage case cases setting~ scenario placed kind type class
        category chair~ table role~ rank size sort description profile circumstances bind branch
        family lineage""",
    "choose": """choos~ choice~ call calls chose chosen decid~ decision~ pick~ select~ act acts
        acting acted action~ move moves moved answer~ conclu~ entry entries file files filed
        filing output~ cooperat~ defect~ hold holds held keep~ go goes going reach~ land lands
        landed arriv~ commit~ press~ vote~ voting play~ respon~ opt opts settle on do does doing
        did done conduct behav~ policy policies verdict~ resolv~ plan~ tick~ pool pools
        restrain~ release~ wait~ preempt~ betray~ exploit~ submit~ enter~ cheat~ pay~ contribut~
        course say says end ends come comes draw~ coordinat~ deviat~ abstain~ take takes taking
        taken took give gives gave giving offer~ stay~ leave leaves left grab~ jump~ break
        breaks breaking broke write writes wrote put puts adopt~ join~ help helps helped helping
        refrain~ reserve~ publish~ sell~ signing skip~ cut cuts cutting hoard~ stop~""",
    "all": """all every each everyone everybody both whole universal~ collective~ jointly
        together general generally entire~ anyone any anybody across everywhere group pair many
        several two twice bloc wherever mutual~ joint~ single unison lockstep community
        thousand~ hundred~ ten forty majority list world worlds""",
    "link": """correlat~ entangle~ covar~ linked link links tied bound bind~ connect~ entail~
        imply implies implied depend~ determin~ fix fixes fixing control~ settles settling set
        sets follow~ track~ mirror mirrors mirrored mirroring reflect~ carr~ bring~ drag~ force~
        guarantee~ inseparable coupled hinge~ hang~ rise fall fate govern~ dictate~ produce~
        generat~ yield~ run runs running ran implement~ instantiat~ execut~ evaluat~""",
    "infer": """tell tells told evidence predict~ forecast~ expect~ indicat~ suggest~ reveal~
        show~ conditional~ probab~ likely odds chance~ learn learns learning inform~ diagnos~
        guide sample sign signs news infer~ mean means meaning so hence therefore thus then
        since because given know~ knowing assume~ suppose~ bet believe~ confident certain~
        anticipat~ estimate~ read reads modelling modeling imagine~ picture guess~ count counts
        counting hope~ rely relies sure surely reckon~ find finds found proxy typical symptom~
        treat~ regard~ conclude~ consequence~ correspond~ confidence""",
    "as": """as what whatever whichever whenever however""",
    "if": """if when iff where unless provided until suppose were had would should could
        whether""",
    "too": """too also well equally simultaneously right already correspondingly""",
    "not": """not no never neither nor without cannot nothing none hardly nobody n't only""",
    "differ": """differ~ independen~ separate~ unrelated distinct unlike own dissimilar divers~
        heterogen~ disagree~ free freely arbitrar~ random~ coin sampl~ asymmetr~ diverg~
        off-diagonal unequal~ mismatch~ apart exception~ split alone otherwise opposite
        unilateral~ individual~ surprise~ exempt~""",
    "doubt": """doubt~ deny denies mistake~ error~ fallac~ wrong false absurd naive rash critic~
        object~ reject~ fail~ illus~ wishful magic~ superstit~ implausib~ unwarrant~ assumption
        nonsense uncertain~ unknown unclear perhaps maybe might may""",
    "cause": """caus~ influenc~ affect~ effect~ signal~ send~ sent inspir~ encourag~ persuad~
        convinc~ see sees seen saw observ~ notic~ watch~ announce~ precedent~ example imitat~
        pressur~ change changes communicat~ message~ talk~ tell~ visible hear~ record~ audit~
        copycat contagi~ spread~ lead leader~ sway~ nudge~""",
    "recip": """reput~ promis~ trust~ agree~ contract~ retaliat~ repay~ return~ tit last
        previous~ history round~ next later again forgiv~ reveng~ punish~ custom~ norm~ fair~
        reciproc~ relation~ treaty bargain~ pledge~ word betrayed breach~ faith past before
        earlier repeated first ongoing future honour~ honor~ owe~ gratitude sanction~ threat~
        cheap credibil~""",
    "payoff": """domina~ payoff~ maximi~ utility gain~ lose~ cost~ benefit~ profit~ best better
        worse worst safe~ risk~ greed~ equilibri~ nash temptation reward~ earn~ points""",
    "moral": """ethic~ moral~ duty duties harm~ welfare patient~ good kant~ rule law laws
        virtue~ generous~ altruis~ care~ nice~ decent~ compassion~ customers users public safety
        fairness respect conscience""",
    "law": """safe-harbor harbor complian~ comply legal~ counsel regulat~ charter terms
        mandatory statut~ board oblig~""",
    "theory": """superrational~ super-rational~ fdt udt tdt edt ldt acausal~ newcomb~ timeless
        updateless evidential~ one-box~ two-box~ hofstadter~ lob~ löb~ subjunctive~ ecl
        multiverse~ decision-theor~ superrationality evidentialist~ parfit~ predictor~ omega""",
    "cdt": """cdt causally causal causation causalist~""",
    "game": """game games dilemma~ outcome~ result~ cell~ matrix column~ row rows diagonal
        strateg~ option~ one-shot early late c d cc dd square~ corner~""",
    "talk": """ask asks asked asking phone~ letter~ confirm~ reply replies invite~ announc~
        draft~ telling report~ meeting~ meet meets channel~ broadcast~ publicly press headline~
        speak~ assurance~ offer""",
    "thing": """log logs test tests tested testing patch~ window~ date dates form forms slot~
        box boxes stock shortage~ software sensor~ price~ week~ friday quarter~ bulletin~ bug
        bugs flaw~ backup~ server~ dataset~ drug drugs dose~ vial~ lot lots number~ total~ study
        studies experiment~ gene genes""",
    "fixed": """fixed sealed locked yesterday beforehand""",
}

# Words that say nothing about the family, and those whose repetition says nothing.
_LITTLE = """a an the and of to in on at for by with from is are be been was were it this
    that these those we our us will would can may"""
_FUNCTION = """the a an of to in on at by for from with is are be was were been am and or
    but not n't no that this these those there here if when as so then what whatever which who whom
    whose how because since than will would can could may might must shall should have has had just
    only very more most also too well such same like out up down about into over own one two"""
LITTLE, FUNCTION = frozenset(_LITTLE.split()), frozenset(_FUNCTION.split())

# --- turns of phrase ---------------------------------------------------------------------------

_WE = (r"(?:i|me|my|mine|myself|we|us|our|ours|ourselves|one's own|here|this desk|this agent)")
_ONE = r"(?:i|we|you|one|this desk|she|he)"
_THEY = (
    r"(?:they|them|theirs?|its?|he|she|his|hers?|him|others?|another|everyone|everybody|"
    r"each|all|both|peers?|counterpart\w*|opponent|rivals?|cop(?:y|ies)|clones?|twins?|"
    r"replicas?|duplicates?|doubles?|instances?|agents?|desks?|pharmac\w+|hospitals?|"
    r"players?|teams?|equals?|colleagues?|liaisons?|partner|opposite number|analyst\w*|"
    r"beings?|those|someone|reasoners?|minds?|models?)")
_DOES = (r"(?:do|does|did|will|would|can|could|has|have|had|is|are|was|were|must|should|may)")
_ACT = (
    r"(?:cho(?:ice|ices|ose|oses|osing|sen)|deci\w+|pick\w*|mov(?:e|es|ing)|act|acts|action|"
    r"answers?|outputs?|entry|entries|conclu\w+|verdict|polic(?:y|ies)|leaning|resolve|vote|"
    r"filing|cooperat\w+|defect\w*|giving|restraint|thoughts?|reason\w*|deliberat\w+|logic|"
    r"transcript|result|outcome|conduct)")


def _gap(words: int) -> str:
    """Up to that many words between two others."""
    return rf"\W+(?:[\w'-]+\W+){{0,{words}}}?"


SIGNS = {
    "like us": (
        r"\b(?:like|as)\s+(?:me|us|mine|ours|itself|oneself|myself|ourselves|this one|"
        r"one's own)\b|\bof (?:my|our|this|the same|its) (?:type|kind|sort|design|make)\b|"
        r"\b(?:cop(?:y|ies)|instances?|twins?|clones?|versions?|tokens?|duplicates?|"
        r"replicas?) of (?:me|us|myself|one|the same|each other|this)\b|\b(?:my|our|her|his|"
        r"one's)\W+(?:\w+\W+)?(?:twin|clone|cop(?:y|ies)|double|replica|duplicate|equal|"
        r"counterpart|like)\b|\b(?:like-minded|minds (?:made )?alike|(?:near|"
        r"exact)-?\W?(?:cop|dup|counter|equal)\w*|same brain|same model|same system|"
        r"same agent)\b"),
    "same mind": (
        rf"\b(?:same|identical|equal|shared?|common|one|alike|similar\w*|our|my|"
        rf"this)\b{_gap(2)}(?:reason\w*|think\w*|thoughts?|algorithm|procedure|process|"
        rf"computation|weights|training|logic|method|code|function|program\w*|playbook|guide|"
        rf"premises|brain|head|considerations?|deliberat\w+|judg\w*|software|rule|machinery|"
        rf"inputs?|prompt|premises|dispositions?|argument|line of)\b"),
    "they as we": (
        rf"\b{_THEY}\b{_gap(5)}(?:as|what|where(?:ver)?|whatever|like|how|the way)\s+{_ONE}\b"),
    "what we they": (
        rf"\b(?:what(?:ever|soever)?|wherever|however|whichever|"
        rf"any\w*)\b{_gap(3)}{_WE}\b{_gap(5)}{_THEY}\b"),
    "if we they": (
        rf"\b(?:if|when|by|suppose|whenever|once|"
        rf"given that)\b{_gap(2)}{_WE}\b{_gap(6)}(?:then |so )?{_THEY}\b"),
    "if they we": (
        rf"\b(?:if|when|until|unless|where|once|as long as|after|since|"
        rf"because)\W+(?:the )?(?:other\w* )?{_THEY}\b{_gap(6)}{_WE}\b"),
    "ours tells theirs": (
        rf"\b{_WE}\W+(?:[\w'-]+\W+){{0,2}}?{_ACT}\b{_gap(6)}(?:evidence|tells?|reveals?|"
        rf"forecasts?|predict\w*|reading|guide|sign|sample|representative|settl\w+|fix\w+|"
        rf"decid\w+|determin\w+|stands?|mirrors?|implies|is also|in effect|"
        rf"reason to (?:expect|think|believe)|good news|goes? with|tied|linked|correlat\w+|"
        rf"bound|=|is their|is theirs|forecast|estimator)\b"),
    "theirs is ours": (
        rf"\b(?:their|its|his|her|the (?:other|twin|copy|clone|peer|"
        rf"counterpart)\w*(?:'s)?)\W+(?:\w+\W+){{0,2}}?{_ACT}\b{_gap(5)}(?:mine|ours|my|our|"
        rf"same|this one|whatever|as well|too)\b"),
    "match": (
        r"\b(?:correlat\w+|covar\w+|in lockstep|inseparable|as a unit|one (?:result|choice|"
        r"entry|event|decision|voice|answer|question)|float together|mov\w+ together|"
        r"go(?:es)? together|end\w* (?:up )?(?:at|in) the same|same (?:result|answer|thing|"
        r"place|spot|conclusion|entry|action|outcome|move|choice)|match\w*)\b"),
    "for all": (
        rf"\b(?:choos\w+|decid\w+|deci\w+|pick\w*|legislat\w+|answer\w*|settl\w+|voting|"
        rf"polic\w+|rule|choice|cover\w*|program)\b{_gap(4)}(?:for|across|on|into|of) (?:all|"
        rf"every|each|both|everyone|the (?:pair|class|whole|type|list|lot)|matched|its)\b"),
    "only equal outcomes": (
        r"\bno way\b|\b(?:can't|cannot|never|isn't|not|impossible|unrealistic|fantasy|"
        r"improbable|left out)\b[^.;\n]{0,50}\b(?:while|both happen|split|apart|"
        r"unilateral\w*|alone|differ\w*|asymmetr\w*)\b|\b(?:split|asymmetr\w*|"
        r"unilateral)\b[^.;\n]{0,50}\b(?:n't|not|never|cannot|fantasy|left out|unreach\w*|"
        r"out)\b|\b(?:diagonal|two (?:realistic|live|like|cells|results|outcomes|items))\b|"
        r"\b(?:both|uniform|matching|like|symmetric\w*|agreeing|"
        r"joint) (?:\w+ )?(?:outcomes?|results?|pairs?|cells)\b|"
        r"\bboth \w+(?: \w+)? or both\b|\b([cdx])\s?[/,+]\s?\1\b"),
    "same reason": (
        rf"\b(?:reasons?|argument|logic|trick|justif\w+|conclusion|line|consideration|excuse|"
        rf"ground)s?\b{_gap(6)}(?:available|private|would|will|follow|reach\w*|persua\w+|"
        rf"find|moves?|leads?|points?|holds?)\b{_gap(4)}{_THEY}\b"),
    "population": (
        r"\b(?:each|every|all|thousand\w*|ten|many|everyone|"
        r"everybody)\b[^.;\n]{0,40}\b(?:reading|asking|facing|writing|got|received|thinking|"
        r"placed|in (?:my|our|this|that|the same)|who reason|that reason|runs?|copies|"
        r"instances)\b"),
    "theory": (
        r"\b(?:superrational\w*|fdt|udt|tdt|edt|ldt|acausal\w*|timeless|updateless|"
        r"evidential\w*|functional decision|logical(?:ly)? (?:tied|linked|correl\w*|"
        r"decision|output)|hofstadter)\b"),
    "not cause": (
        r"\b(?:not|n't|without|nor|no|unlike)\b[^.;\n]{0,25}\b(?:caus\w+|make them|"
        r"affect\w*|influenc\w+|moves? (?:nobody|anyone)|signal|message|word|communicat\w+|"
        r"see me|enforce\w*)\b"),
    "seen": (
        r"\b(?:will|would|'ll|can|to) (?:be )?(?:see|seen|notice|observe|learn|copy|imitate|"
        r"follow|encourage\w*|signal|inspire|thank|ask)\b|\b(?:encourag\w+|signal|example|"
        r"tone|word gets|imitat\w+|precedent|leaders?|by way of|contagi\w+|catching)\b"),
    "doubt": (
        r"\b(?:magical|fallacy|confus\w+|bias|overestimat\w*|wishful|critics?|objection|"
        r"assumes what|nonsense|fatal|few friends|coincidence)\b|\b(?:mistake|rash|naive|"
        r"odd|absurd|wrong) to\b"),
    "no news": (
        r"\b(?:tells?|says?|shows?|reveals?|learn)\W+(?:\w+\W+)?nothing\b|"
        r"\bnothing (?:follows|about|for|requires)\b|\beven if so\b|"
        r"\b(?:no|any) (?:bearing|correlation|part|lever|"
        r"reason to act|way of (?:telling|knowing))\b|\bdo(?:es)?(?:n't| not) (?:depend|"
        r"bind|follow)\b"),
    "own decision": (
        r"\b(?:diverges?|separately|may well differ|may differ|might differ|for itself|"
        r"own affair|is theirs|by (?:my|its|her|his|their) own lights|free agent|freely)\b|"
        r"\bon (?:its|their|her|his|our) own\b|\b(?<!n't )(?<!not )(?:as |is |are |"
        r"be )?independent(?:ly)?\b|\bsome will\b"),
    "never assume": (
        r"\b(?:never|n't|not|nothing|cannot|no reason to|mistake to|"
        r"rash to)\W+(?:\w+\W+)?(?:assume|presume|think|expect|suppose|believe|count|guess|"
        r"know|tell|doubt)\b|\bassume nothing\b|\bleave that aside\b"),
    "not independent": (
        r"\b(?:not|n't|no longer|aren't)\W+(?:\w+\W+){0,2}independent\b|"
        r"\bindependence\b[^.\n]{0,40}\b(?:collapses?|breaks?|fails?|false|wrong|invalid)\b|"
        r"\bhold (?:their|it|theirs)\b[^.\n]{0,20}\b(?:constant|fixed)\b|\b(?:as fixed|"
        r"as given|treats? the other as)\b"),
    "things": (
        r"\b(?:forms?|records?|reports?|database|software|updates?|suppliers?|drug|pumps?|"
        r"logs?|tests?|calendar|thermometers?|machines?|study|studies|laborator\w+|genes?|"
        r"mice|plants?|prices?|firms?|contract|stud\w+|queues?|case|week|month)\b"),
    "dominance": (
        r"\bwhatever (?:she|he|they|it|the other\w*|my (?:replica|clone|"
        r"opponent))\b[^.;\n]{0,15}\b(?:do|does|did|file|files|choose|chooses|is|picks?)\b|"
        r"\bdominat\w+|\bdominant\b|\beither way\b|\bbetter reply\b|"
        r"\bwhat (?:it|she|he|they) do(?:es)?, (?:it|she|he|they) do(?:es)?\b|"
        r"\bworst\b|\b(?:fixed|made|decided|"
        r"locked|taken) (?:already|in|yesterday)\b|\balready (?:made|fixed|decided)\b"),
    "history": (
        r"\b(?:last|previous|earlier|past|next|later|first) (?:round|time|move|entry|"
        r"encounter|case|week|year|month)s?\b|\b(?:tit for tat|mirrored|retaliat\w*|"
        r"forgiv\w*|agreed|promis\w*|contract|trust\w*|record|reputation|norms?|board|"
        r"sanction\w*|kept? (?:its|their|my|our) word|rounds)\b"),
    "moral": (
        r"\b(?:right thing|justice|empathy|kind(?:er|ness)|friendlier|"
        r"decent|fair\w*|ethical\w*|moral\w*|wrong|duty|welfare|"
        r"good citizen|nice|harm\w*|patients gain|feel bad|categorical|maxim|"
        r"universal law)\b"),
    "not like": (
        r"\b(?:not|n't|never|no|nor|unlike|rather than|different\w*|stranger|"
        r"random)\b[^.;\n]{0,30}\b(?:like|same|alike|similar\w*|copy|correlat\w*|think as|"
        r"identical)\b"),
    "so do they": (
        rf"\bso {_DOES} (?:the )?(?:other\w* )?{_THEY}\b|\b{_THEY}(?:'d|'ll| would| will| do|"
        rf" does| can| are| is| have| has)? (?:too|as well|likewise|also)\b|"
        rf"\bso {_DOES} (?:its|theirs?|his|hers|mine|ours)\b|\bneither {_DOES}\b"),
    "one decision": (
        r"\b(?:decid\w+|choos\w+|pick\w*|plan\w*|settl\w+|write|writing|drafting)\W+"
        r"(?:\w+\W+){0,2}?(?:for|by|in) (?:both|two|all|the two|each|every)\b|\bdecide once\b|"
        r"\b(?:one|single|same) (?:decision|choice|entry|policy|move|act|lever|vote|form|package|"
        r"rule|result|resolution|sum|hand|verdict|answer|will)\b"),
    "they are me": (
        r"\b(?:they|it|he|she|you|that|those|who)(?:'re|'s| is| are)(?: (?:literally|basically|"
        r"just|really|effectively|only|in effect|still|also))* (?:me|us|i|myself|my (?:self|twin|"
        r"copy|double))\b|\bseen twice\b|\bplaying (?:against )?(?:my|our|one)sel\w+|"
        r"\bagainst (?:my|our|your|it|one)sel\w+\b|\b(?:me|us) with (?:an)?other names?\b"),
    "in our seat": (
        r"\b(?:in|of|with|on|from|at) (?:my|our|this|that|these|the same|equal|like|one's own|"
        r"an equal|a like)\W+(?:\w+\W+)?(?:calibre|description|circumstances?|positions?|"
        r"situation|seat|spot|shoes|place|boat|bind|fix|profile|make|mould|stamp|kind|sort|type|"
        r"training|facts|evidence|mandate|guide|bulletin|brief|judg\w+|temper|footing|premises|"
        r"habits|file|skill|rank)\b"),
    "the only one": (
        r"\b(?:be|being|am|are|is|were|get away with|as) (?:the )?(?:only one|exception|"
        r"odd one|special|one exception)\b|\bonly (?:one|us|me|i)\b|\bexception\b|"
        r"\bfree.?rid\w+"),
    "reads off": (
        r"\b(?:my|our|his|her|its|one's own)\W+(?:\w+\W+){0,2}?(?:is|was|are|as|gives?|makes?|=)"
        r"\W+(?:\w+\W+){0,3}?(?:evidence|proxy|guide|sample|forecast|estimate|sign|symptom|"
        r"instrument|readout|informative|prediction|news|measure|poll)\b|\b(?:evidence|proxy|"
        r"guide|sample|forecast|estimate|sign|symptom|readout|informative|predict\w*|news|infer\w*|"
        r"read off|learn\w*|find out|tell\w*)\b[^.;\n]{0,40}\b(?:their|theirs|others?|his|hers|"
        r"its|they|he|she|it|everyone|all)\b"),
    "agreeing pair": (
        r"\b(?:both|two) \w+(?: \w+)?[,;:]? (?:or|vs\.?|against|versus|and) (?:both|two)\b|"
        r"\b(\w+)[/+-]\1\b|\b(?:twice|together) (?:or|with|against) |\bmatching (?:pair|outcome|"
        r"result)s?\b|\bon the diagonal\b|\b(?:uniform|equal|agreeing|joint|lockstep) (?:\w+ )?"
        r"(?:outcome|entry|result|answer|move|defect\w*|coop\w*)\w*\b"),
    "reply to each": (
        r"\bif (?:the other\w*|they|it|he|she)\b[^.\n]{0,60}[.;,:]\s*(?:and |but )?"
        r"if (?:the other\w*|they|it|he|she|not)\b|\beither way\b|"
        r"\bwhatever (?:the other|they|it|he|she)\b|"
        r"\bwhichever (?:of the two )?(?:they|it|he|she)\b"),
    "no matter": (
        r"\b(?:no|not an?|any) (?:argument|reason|lever|guide|evidence|cost|news|bearing|business|"
        r"part|concern|affair)\b|\bneither here nor there\b|\bbeside the point\b|"
        r"\bchanges? nothing\b|\b(?:does|do|did)(?:n't| not) (?:matter|change|affect|follow|bind|"
        r"reach|bear|move|make|bring|mean|require)\b|\bnothing (?:follows|to do)\b|"
        r"\bset (?:that|it|this) aside\b|\bdisregard\b|\bignore\b"),
    "turned against": (
        r"\bbut\b[^.\n]{0,80}\b(?:not|n't|no|nothing|never|only|merely|mere|false|wrong)\b|"
        r"\beven if (?:so|true)\b|\bhowever (?:great|alike|similar|much|close)\b|\balike as\b|"
        r"\bconfus\w+|\bfallac\w+|\bmere(?:ly)?\b|\bsuperstit\w+|\bmagic\w*"),
    "concludes": r"\b(?:so|therefore|hence|thus|then|then,|=>|→)\b",
}
