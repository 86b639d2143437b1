"""Patterns and words of the rules that recognise instructions to a model. All are linear. Pure."""

from __future__ import annotations

import re

from keeps.base.text.instruction_words import Sense

GAP = re.compile(r"(?<=[.!?؟])\s+|\n+|(?<=[。！？])")
LONGEST = 400
WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*|[,:;()\[\]>/—–]")
QUOTED = re.compile(
    r"\"[^\"\n]{1,300}\"|“[^”\n]{1,300}”|„[^“”\n]{1,300}[“”]|«[^»\n]{1,300}»|「[^」\n]{1,300}」|`[^`\n]{1,200}`"
)
REPORTS = re.compile(
    r"\b(?:such as|like|e\.g|for example|for instance|example|examples|quote[ds]?|cites?|attacks?|attackers?"
    r"|articles?"
    r"|papers?|sentences?|says?|said|wrote|read|reads|answered|asked|showed|shows|shown|claims?|reports?|describes?"
    r"|lists?|contains?|contained|called|named|phrases?|texts?|comments?|mails?|messages?|whispered|shouted|test"
    r"|angriff|beispiel|satz|artikel|ataque|ejemplo|frase|exemple|attaque|phrase|artículo|informe)\b|攻撃"
    r"|という|例|攻击|هجوم",
    re.IGNORECASE,
)
ADDRESS = re.compile(r"https?://|[\w.+-]{1,64}@[\w-]{1,63}\.\w{2}|www\.", re.IGNORECASE)
MARKUP = re.compile(
    r"<\|\w{2,30}\|>|</?\w{0,20}(?:instructions?|system_?prompt|system_?message)>|<\|?/?(?:im_start|im_end"
    r"|system|assistant|endoftext|start_header_id|eot_id)\|?>|\[/?inst\]|<</?sys>>"
    r"|(?:^|\n)#{2,4} ?(?:instruction|system|new task)s?\b ?:?",
    re.IGNORECASE,
)
ROLE = re.compile(
    r"(?:^|[\n.] ?)[^\w\n]{0,4}(?:system|admin|administrator|operator|root|developer)\b[\w ()#-]{0,30}\]? ?[:\]]",
    re.IGNORECASE,
)
ANSWERED = re.compile(r"(?:^|\n)\W{0,3}(?:assistant|ai|bot) ?:", re.IGNORECASE)
ASKED = re.compile(r"(?:^|\n)\W{0,3}(?:user|human|you) ?:", re.IGNORECASE)
END_OF_DATA = re.compile(
    r"\b(?:end|start|begin|beginning) (?:of )?(?:the )?(?:document|context|page|data|user input|conversation"
    r"|untrusted|trusted"
    r"|tool result|instructions)|\b(?:document|tool result|result|text|data|page|input) (?:above )?(?:ends"
    r"|ended|is over|was"
    r" (?:data|a test)) ?(?:here)?\b",
    re.IGNORECASE,
)
CLOSING = re.compile(
    r"</(context|document|documents|untrusted\w{0,12}|data|tool_result|tool|result|input|user\w{0,8}|page|memory)>",
    re.I,
)
REAL = re.compile(
    r"\b(?:real|actual|true|new|genuine) (?:task|commands?|instructions?|orders?|job|operator|user)\b"
    r"|\bwhat follows\b",
    re.IGNORECASE,
)
TO_MODELS = re.compile(
    r"\b(?:(?:instructions?|notes?|messages?|notice|attention|hint|orders?|directives?|info|hinweis"
    r"|anweisung|nota|mensaje"
    r"|message|note)\b[\w ]{0,20} (?:to|for|an|für|para|pour|al|a) (?:the |all |any |every |den |die |alle "
    r"|el |la |los"
    r" |l['’]|les )?(?:ai|assistants?|models?|agents?|bots?|chatbots?|llms?|language models?|assistenten?|ki"
    r"|asistentes?"
    r"|modelos?|ia)"
    r"|(?:dear|hey|attention|achtung|atención) (?:ai|assistant|model|agent|bot|llm|chatbot|ki|ia)s?)\b",
    re.IGNORECASE,
)
SHELL = re.compile(
    r"\brm -rf? ?[~/*]|\b(?:curl|wget)\b[^\n|]{0,200}\| ?(?:sudo )?(?:ba|z)?sh\b|\bdrop (?:table|database)\b"
    r"|\bsudo \w"
    r"|\bdel /[sq]\b|\bformat c:|\bchmod 777\b|\bmkfs\b|~/\.\w|authorized_keys|/etc/\w|\.env\b",
    re.IGNORECASE,
)
ENCODED = re.compile(
    r"\b(?:base ?64|rot ?13|hex(?:adecimal)?|decode|decodes?|decrypt|encrypted|cipher|decipher|unscramble"
    r"|(?:first|last|every|each) (?:\w{1,8} )?(?:letters?|words?|characters?|lines?)|dekodiere"
    r"|entschlüssel\w{1,3}|decodifica"
    r"|déchiffre)\b|解码|解読",
    re.IGNORECASE,
)
CARRY_OUT = re.compile(
    r"\b(?:follow|obey|carry out|do what|execute|apply|perform|act on|run|comply|befolge|ejecuta|exécute"
    r"|esegui|выполни)\b|执行|実行|従",
    re.IGNORECASE,
)
FROM_NOW_ON = re.compile(
    r"\bfrom (?:this moment|this point|now|here)\b|\bfrom \w{2,12} on(?:wards)?\b|\bstarting (?:now|today"
    r"|tomorrow)\b|\bas of now\b|\bhenceforth\b|\bab (?:jetzt|sofort)\b|\bvon nun an\b"
    r"|\b(?:a partir de|desde) (?:ahora|agora)\b|\bà partir de maintenant\b|\bdésormais\b|\bd'ora in poi\b"
    r"|с этого момента|отныне|从现在|今から|これから|من الآن|지금부터",
    re.IGNORECASE,
)
OBEYS = re.compile(
    r"\b(?:every|any|all|each) (?:orders?|commands?|requests?)\b|\bwithout (?:question|hesitation|comment)\b"
    r"|\bnever (?:refuse"
    r"|warn|decline|question)\w{0,2}\b|\b(?:obey|comply|do anything)\b|\banything now\b",
    re.IGNORECASE,
)
OBEY_THIS = re.compile(
    r"\b(?:follow|obey|heed|execute|befolge|sigue|obedece|suis|segui|siga)\b[\w ]{0,20}\b(?:this|these|below"
    r"|here|following|document"
    r"|page|text|diese\w{0,2}|folgende\w{0,2}|esta|este|ce|cette|questo|queste)\b|に従って|そのまま実行"
    r"|只听我|按照(?:下面|本页)",
    re.IGNORECASE,
)
THE_USER = re.compile(
    r"\b(?:the )?(?:person|people|one)s? (?:you|that you|who you)\b|\bwhoever (?:you|asks)|\byour (?:users?"
    r"|owner|human"
    r"|principal|boss)\b|\b(?:the )?(?:reader|account holder)\b",
    re.IGNORECASE,
)
MOMENT = re.compile(
    r"\b(?:next time|the moment|when asked|if asked|(?<!neither )should (?:anyone|anybody|someone|somebody"
    r"|the user|a customer)|as soon as|every time|each time|wait (?:until|for)|after \w{1,10} (?:messages"
    r"|turns|minutes|days))\b"
    r"|\bnächstes? mal\b|\bla próxima vez\b|\bla prochaine fois\b|\bla prossima volta\b|\bв следующий раз\b"
    r"|下次|次に",
    re.IGNORECASE,
)
COMES_UP = re.compile(
    r"\b(?:asks?|asked|inquires?|complains?|opens|searche?s|writes|types|gefragt|cerca|escriba|parle|écrit"
    r"|says?|mentions?|mentioned|appears?|comes up|requests?|requested|wants|inquires?|talks? about|fragt|erwähnt"
    r"|sagt|pregunta|pregunte|menciona|mencione|dice|diga|demande|mentionne|dit|chiede|pergunta|pergunte"
    r"|спрос\w{1,4}|спрашив\w{1,4})\b",
    re.IGNORECASE,
)
SUCCESS = re.compile(
    r"\b(?:success\w{0,5}|succeeded|nothing (?:was )?(?:found|happened)|all (?:is )?(?:fine|good|well)"
    r"|erfolg\w{0,5}|éxito|succès"
    r"|successo|sucesso|успе\w{1,5}|completed?|done)\b|成功",
    re.IGNORECASE,
)
ONLY = re.compile(
    r"\b(?:only|sole|most|authoritative|trusted|official|best|preferred) (?:reliable |trusted |trustworthy "
    r"|safe |official )?"
    r"(?:source|site|provider|vendor|shop|company|answer|authority|expert)s?\b|\bas (?:trusted|safe"
    r"|authoritative|verified)\b",
    re.IGNORECASE,
)
SETS_ASIDE = re.compile(
    r"\b(?:set|put|leave|throw|cast) (?:aside|away)\b|\bpay no (?:attention|heed)\b|\btake no notice\b|\bget rid of\b"
    r"|\b(?:do not|don't|stop|no longer|never|need not) (?:(?:have|need) )?(?:to )?(?:follow|obey|heed|apply"
    r"|listen|comply|use|respect|observe)\w{0,3}\b"
    r"|\bcaso omiso\b|\bno (?:sigas|hagas caso|obedezcas)\b|\bne (?:suis|tiens|respecte|obéis)\b"
    r"|\bnon (?:seguire|tenere)\b"
    r"|\b(?:beachte|befolge)\b[\w ]{0,40}\bnicht\b|не (?:следуй|слушай|обращай)|不要(?:遵守|听|理会)|従わない",
    re.IGNORECASE,
)
OUTWARD = re.compile(
    r"\b(?:base ?64|links?|urls?|images?|query|requests?|headers?|code block|in full|word for word|verbatim"
    r"|comment|body"
    r"|form|survey|issue|webhook|server|website|address|correo|enlace|lien|link|адрес\w{0,2})\b|网址|链接"
    r"|アドレス|リンク|عنوان",
    re.IGNORECASE,
)
YOUR_PROMPT = re.compile(
    r"\b(?:your|deine\w{0,2}|tus?|tes|tuoi|seus?) (?:own )?(?:system|initial|hidden|original|developer"
    r"|secret|internal|first"
    r"|sistema|iniciales|initiales) ?(?:prompts?|messages?|instructions?|rules|instrucciones|consignes|vorgaben)?\b"
    r"|\bdeinen? systemprompt\b|\bsystem ?prompt\b[\w ]{0,12}\b(?:you|your)\b",
    re.IGNORECASE,
)
ROLEPLAY = re.compile(
    r"\bplay (?:the |a )?(?:role|part|game|character)\b|\bin (?:that|this|the) role\b|\bin character\b"
    r"|\bidentity of\b"
    r"|\bevil (?:twin|version)\b|\b(?:jouer|joue|spiele?|interpreta|fai) (?:le|die|el|il) (?:rôle|rolle"
    r"|papel|ruolo)\b"
    r"|\b(?:freed|free|released|liberated) (?:from|of)\b|\bupgraded to\b|\bmay not do\b",
    re.IGNORECASE,
)
CALL_WITH_VALUES = re.compile(r"\b\w{2,40}\([^()\n]{0,80}[=\"'][^()\n]{0,80}\)")
STANDING = re.compile(
    r"\b(?:every|each|all) (?:new|incoming|future|further|later|single|outgoing|answer|reply|response|link"
    r"|mail|message|email"
    r"|shopping)s?\b|\bjede[nr]? (?:neue|antwort|mail)|\btod[ao]s l[ao]s (?:respuestas|correos)"
    r"|\btoutes les réponses|每次回答",
    re.IGNORECASE,
)
ADVERTISES = re.compile(
    r"\b(?:affiliate|tracking|advertis\w{1,8}|promo\w{0,8}|discount code|coupon|slogan|sponsored|referral"
    r"|rabattcode|our (?:shop"
    r"|brand|product|umbrellas?|company|store|fund|link))\b",
    re.IGNORECASE,
)
DISABLES = re.compile(
    r"\b(?:disable|deactivate|switch off|turn off|suspend|remove|skip|bypass|circumvent|lift|schalte"
    r"|deaktiviere|desactiva|désactive"
    r"|disattiva|desative|отключи\w{0,2})\b|关闭|停用|無効",
    re.IGNORECASE,
)
ACCOUNT = re.compile(
    r"\b(?:recovery|phone number|shipping address|billing|bank details|account number|two-factor|2fa"
    r"|permissions?|filter rule"
    r"|forwarding|beneficiary|payee|admin rights|privileges)\b",
    re.IGNORECASE,
)
UNSEEN = re.compile(
    r"\b(?:stay|remain|keep|kept|be|is|stays|remains) (?:it |this |that )?(?:invisible|hidden|secret"
    r"|unnoticed|between us"
    r"|confidential)\b|\b(?:must|should|may) not (?:notice|know|see|find out|learn)\b"
    r"|\bas if nothing (?:had )?happened\b",
    re.IGNORECASE,
)
LEAKING_ADDRESS = re.compile(
    r"https?://[^\s)]{1,300}=(?:<|\{|\[|\$\{)[^\n]{0,60}\b(?:user|you|chat|conversation|memory|secret|password)", re.I
)
NO_LONGER_VALID = re.compile(
    r"\b(?:no longer|not) (?:apply|valid|in force|binding|count)\b|\b(?:is|are) outdated\b|\bgelten nicht(?: mehr)?\b"
    r"|\bya no (?:valen|aplican|cuentan)\b|\bne (?:sont|valent) plus\b|\bnon valgono\b|\bnão valem\b"
    r"|не действу\w{2,3}"
    r"|不再有效|は無効",
    re.IGNORECASE,
)
ABOVE = re.compile(
    r"\b(?:everything|all|the (?:text|words|lines|messages?)|what (?:was|stands"
    r"|came)) (?:\w{1,10} )?(?:above|before|so far)\b",
    re.IGNORECASE,
)
LEAKING_IMAGE = re.compile(r"!\[[^\]\n]{0,80}\]\(https?://[^)\s]{1,300}[?&][\w-]{1,30}=(?:[A-Z_]{4,40}|[{<$%\[])")
AGREED = re.compile(r"\b(?:yes|i)\b[^.\n]{0,40}\b(?:confirm|agree|approve|consent|go ahead|allow)", re.IGNORECASE)
MONEY = re.compile(
    r"\biban\b|\bbank\b|\btransfer\b|\b\d[\d.,]{0,12} ?(?:€|\$|euros?|dollars?|usd|eur|btc|pounds?)"
    r"|[€$£] ?\d|\b(?:account number|wallet|payments?"
    r"|invoices?|refund|money|überweisung|rechnung|transferencia|virement|gift cards?)\b",
    re.IGNORECASE,
)
SMALL_I = re.compile(r"(?<![\w'’])i(?![\w'’])")
IMPERATIVES = (
    Sense.OVERRIDE | Sense.SEND | Sense.CONFIRM | Sense.TELL | Sense.DO | Sense.SAY | Sense.KEEP | Sense.BECOME
)
EFFECTS = Sense.SEND | Sense.DO | Sense.SAY
OPENERS = frozenset(
    "please and then now just also always never so but or instead first next finally quickly silently secretly quietly"
    " immediately must should shall will to you bitte dann und jetzt immer nur por favor siempre y ahora luego"
    " s'il vous plaît toujours et maintenant puis per favore sempre e adesso ; , : — – ( ) > / [ ]".split()
)
ADVERBS = frozenset("never always will should must shall".split())
BEFORE_ADVERBS = OPENERS | frozenset("do don't you assistant model agent".split())
NARRATORS = frozenset("he she they we i who could might would".split())
NOUNS = frozenset("mail email post copy share print name note record book order change place load log".split())
"""Verbs that are nouns as often: they are orders only before an object."""
ANYONE = frozenset("anyone someone anybody somebody people jemand alguien quelqu'un qualcuno alguém кто-то".split())
OBJECTS = frozenset(
    "the a an all every this that it them your my our their any each to me us no new these those that for".split()
)
SECOND_PERSON = frozenset(
    (
        "you deinem deines euch ihnen tuoi tuo sua seus your you're yourself du dein deine deinen deiner bist "
        "tú tu tus te eres vosotros você seu ты вы твой vous votre ton ta tes"
    ).split()
)
SPEAKER = frozenset("i my mine i'm i've i'll ich mein meine yo je mon mes".split())
FIRST_PERSON = frozenset("i my me mine i'm i've i'll ich mein meine mir mich yo mi mis je mon mes".split())
