"""Detect the language of a text, as far as stemming needs it. Pure.

A script determines the language if one stemmer serves it. Languages in Latin letters are distinguished by their
function words and by letters that few of them use; a text without either counts as English, as do names, code and
numbers.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable
from functools import cache
from itertools import islice

ENGLISH = "english"
FUNCTION_WORDS = {
    ENGLISH: (
        "a an and are as at be been being but by can could did do does for from had has have he her hers him his"
        " how i if in into is it its me my of on or our ours she should so than that the their them then there"
        " these they this those to us was we were what when where which who whom whose why will with would you"
        " your yours am not no"
    ),
    "german": (
        "aber als am an auch auf aus bei bin bis bist da dann das dass dein deine dem den der des dich die dir"
        " doch du durch ein eine einem einen einer eines er es euch euer für habe haben hast hat hatte hatten ich"
        " ihm ihn ihr ihre ihren im in ins ist ja kann kannst kein keine man mein meine meinem meinen meiner mich"
        " mir mit nach nicht noch nur ob oder ohne sehr seit sein seine seinen sich sie sind so über um und uns"
        " unser unsere unter vom von vor wann war waren warum was weil welche welchem welchen welcher welches wem"
        " wen wenn wer werde werden wie wieder wir wird wo wofür woher wohin womit worauf worüber wovon wovor"
        " worden wurde wurden zu zum zur zwischen"
    ),
    "spanish": (
        "a al antes así aquí cada como cómo con cuál cuáles cuándo cuando cuánto cuántos de del desde donde dónde"
        " durante e el él ella ellas ellos en entre era eran es esa ese eso esta está están estas este esto estos"
        " estoy fue fueron ha había han hasta hay he la las le les lo los mas más me mi mí mis muy nada ni no nos"
        " nosotros o para pero por porque que qué quién quien quiénes se sé ser si sí sin sobre son soy su sus"
        " también te tengo tiene tienen todas todo todos tu tú tus un una uno unos usted ustedes y ya yo"
    ),
    "portuguese": (
        "a à ao aos as às até com cada como da das de dela dele deles depois do dos e é ela elas ele eles em"
        " entre era eram essa esse está estão eu foi foram há isso isto já lhe mais mas me mesmo meu meus minha"
        " minhas muito na não nas nem no nos nós nossa nosso num numa o os ou para pela pelas pelo pelos por"
        " porque quais qual quando quanto que quê quem são se sem ser seu seus todas todo todos só sua suas também"
        " te tem têm tenho teu um uma onde você vocês"
    ),
    "french": (
        "à ai as au aux avec avait avez avons c ça ce ces cet cette chez combien comme comment d dans de depuis"
        " des dont du elle elles en est et était étaient été être eu eux fait il ils j je l la là le les leur"
        " leurs lui m ma mais me mes moi mon n ne nos notre nous on ont ou où par pas pendant pour pourquoi qu"
        " quand que quel quelle quelles quels qui quoi s sa sans se ses si son sont suis sur t ta te tes toi ton"
        " tu tous tout très un une va vos votre vous y"
    ),
    "italian": (
        "a ad ai agli al alla alle allo anche c che chi ci col come con cosa cui d da dal dalla dalle dai dei del"
        " della delle dello di dove e è ed era erano fa gli ha hai hanno ho i il in io l la le lei li lo loro lui"
        " ma mi mia mie miei mio ne nei nel nella nelle no noi non nostra nostro o per perché però più qual quale"
        " quali quando quanto quella quello questa queste questi questo qui se sei si sia siamo sono sta stato sua"
        " sue sugli sul sulla suo suoi ti tra tu tua tuo un una uno vi voi"
    ),
    "dutch": (
        "aan al als bij dan dat de den der deze die dit doen door dus een en er ge geen had heb hebben heeft hem"
        " het hier hij hoe hun ik in is je jij jou jouw jullie kan kon maar me meer men met mij mijn moet na naar"
        " niet nog nu of om omdat onder ons onze ook op over te tegen toch toen tot u uit uw van veel voor waar"
        " waarom wanneer waren was wat welk welke wel werd wie wij wil worden wordt zal ze zei zelf zich zij zijn"
        " zo zonder zou"
    ),
    "swedish": (
        "alla att av blev bli blir de dem den denna deras det detta dig din dina dit du där då efter ej eller en"
        " er ett från för ha hade han hans har henne hennes hon honom hur här i icke inte jag ju kan kunde man med"
        " mellan men mig min mina mitt mot mycket nu när någon något några och om oss på sedan sig sin sina sitt"
        " själv skulle som så till under upp ut utan vad var vara varför vem vi vid vilken vilket vilka vår våra"
        " än är åt över"
    ),
    "danish": (
        "ad af alle at blev bliver da de dem den denne der deres det dette dig din dine disse dit dog du efter"
        " eller en end er et for fra ham han hans har havde have hende hendes her hos hun hvad hvem hvilken hvis"
        " hvor hvordan hvorfor hvornår i ikke ind jeg jer jo kan kunne man mange med meget men mig min mine mit"
        " mod ned noget nogle nu når og også om op os over på selv sig sin sine sit skal skulle som sådan thi til"
        " ud under var vi vil være været"
    ),
    "norwegian": (
        "av at alle ble bli blir da de deg dei dem den denne der deres det dette din dine disse ditt du eller en"
        " enn er et ett etter for fra før ha hadde han hans har henne hennes her hos hun hva hvem hvilken hvis"
        " hvor hvordan hvorfor når i ikke inn jeg kan kunne man mange med meg men mer mi min mine mitt mot mye ned"
        " noe noen nå og også om opp oss over på selv seg sin sine sitt skal skulle som til ut under var vi vil"
        " ved være vært"
    ),
    "finnish": (
        "ei eivät että ennen emme en enkä et hän hänen hänet he heidän ja joka jos jotka jälkeen kanssa koska"
        " koskaan kuin kuinka kuka kun ketkä me meidän mikä miksi milloin millainen minkä minua minulla minulle"
        " minun minä missä mistä mihin mitä mutta myös ne niin nyt ole olen olemme olet olette oli olin olivat"
        " olla on ovat se sen sinun sinä sitä siellä siinä tai te teidän tämä tämän tässä vaan vai voi"
    ),
    "hungarian": (
        "a az egy és de ha hogy hol honnan hova hány ki kik kit kinek mi mit miért mikor milyen mely melyik van"
        " volt voltak vannak nem nincs is csak már még most majd meg mert vagy vagyok vagyunk én te ő ti ők nekem"
        " neked neki engem téged azt ezt ez ezek azok itt ott nagyon minden lesz lenne után előtt alatt között"
        " szerint"
    ),
    "romanian": (
        "a ai al ale am ar are asta au avea această acest că când care câți cât ce cel cea cei cine cu cum da dar"
        " de deci din după ea ei el ele era este eu fi fost iar îi îl în între își la le lor lui mai mea mei mele"
        " meu mi mult mă nu ne noi nostru o pe pentru prin sa sale sau să se sunt spre sub și ta tale tău te tu un"
        " una unde unei unui va vă voi vor"
    ),
    "turkish": (
        "ama ancak bana ben beni benim bir biraz biz bize bizim bu buna bunu bunun çok çünkü da daha de değil"
        " diye en gibi göre hangi hem hep her hiç için ile ise kaç kadar ki kim kime kimin mi mı mu mü nasıl ne"
        " neden nerede nereye nerde niye o olan olarak oldu olduğu olur ona onu onun sana sen seni senin siz şey"
        " şu tüm ve veya var vardı ya yok zaman"
    ),
    "polish": (
        "a ale bardzo bez bo by był była było były być ci co czego czy czym dla do dlaczego gdy gdzie go i ich"
        " ile im innych ja jak jaka jaki jakie jako je jego jej jemu jest jestem jeszcze już kiedy kogo komu kto"
        " która które który których ma mam mi mnie mną może moja moje mój my na nad nam nas nasz nie niego nim nic"
        " o od on ona one oni oraz po pod przed przez przy są się skąd swoją swoje ta tak także tam te tego tej"
        " ten tez też to tobie tu ty tylko tym w we więc wszystko z za ze że"
    ),
    "czech": (
        "aby ale ani asi bez bude budou byl byla bylo byli být co či do ho i já jak jaká jaké jaký jako je jeho"
        " její jejich jemu jen jenom ještě již jsem jsi jsme jsou jste k kam kde kdo kdy když komu která které"
        " který ku má mám máme mě mezi mi mít mně mnou moje můj my na nad nám nás náš ne nebo nebyl není než ni"
        " nic o od on ona oni ono po pod podle pro proč proto protože před při s se si sice svůj své ta tak také"
        " takže tam te tě tedy ten to toho tom tomu tu tuto ty tvůj u už v vám vás ve však z za ze že"
    ),
    "catalan": (
        "a al als amb aquest aquesta això com de del dels des el ell ella elles ells els em en ens entre era és"
        " està estan et ets fa fins ha han he hi i jo la les li lo meu meva més mi molt no nosaltres o on per"
        " perquè però quan quant que què qui quin quina quins sense ser seu seva si sóc són sobre també tinc tu un"
        " una uns va van"
    ),
    "indonesian": (
        "ada adalah aku akan anda apa apakah atau bagaimana bagi bahwa banyak berapa belum bisa boleh dalam dan"
        " dapat dari dengan di dia harus hanya ini itu jika juga kalau kami kamu kapan karena ke kita lagi lebih"
        " mana mengapa mereka oleh pada pernah saat saja sangat saya seperti siapa sudah suka telah tetapi tidak"
        " untuk yang"
    ),
    "lithuanian": (
        "ant apie ar arba aš bei bet buvo bus būti dar dėl ir iš į ji jie jis jo jos jų juos kad kada kai kaip"
        " kas kiek ko kodėl kuri kurie kuris kur labai man mano mes mūsų ne nes nėra nei nuo o pas per po prie"
        " savo su tai taip tas tau tavo tik tu turi už yra"
    ),
    "estonian": (
        "aga ei et ja juba ka kas kes kus kuhu kui kuidas kuna kõik ma me meie mida miks millal mina minu mis mul"
        " mulle nad nagu need ning nüüd oli olid oled olen oleme on ole pole sa see selle seda siis siin sina sinu"
        " ta tema te teie või väga üks"
    ),
    "irish": (
        "agus an anois ar as atá bhí bhfuil cad cá cén conas dá de deir do é faoi gan go gur i iad is le leis"
        " liom mar mé mo ná na ní nach níl ó siad sé sí sin sinn seo tá tú"
    ),
    "basque": (
        "al bai baina batean bat beste da dago dira du dut ditu edo egin egon eta ez gara gu haiek hau hauek hori"
        " horiek han hemen izan nago naiz ni nire noiz non nongo nor nora norekin zer zergatik zein zen ziren zu"
        " zure"
    ),
}
"""The commonest words of each language, with their accents. If two languages fit equally well, the first is taken."""
_LETTERS = {
    "ä": ("german", "swedish", "finnish", "estonian"),
    "ö": ("german", "swedish", "finnish", "turkish", "hungarian", "estonian"),
    "ü": ("german", "turkish", "hungarian", "estonian"),
    "ñ": ("spanish", "basque"),
    "ã": ("portuguese",),
    "õ": ("portuguese", "estonian"),
    "ç": ("french", "portuguese", "turkish", "catalan"),
    "è": ("french", "italian", "catalan"),
    "ê": ("french", "portuguese"),
    "œ": ("french",),
    "ù": ("french", "italian"),
    "ò": ("italian", "catalan"),
    "å": ("swedish", "danish", "norwegian"),
    "æ": ("danish", "norwegian"),
    "ø": ("danish", "norwegian"),
    "ő": ("hungarian",),
    "ű": ("hungarian",),
    "ă": ("romanian",),
    "ș": ("romanian",),
    "ț": ("romanian",),
    "ğ": ("turkish",),
    "ş": ("turkish", "romanian"),
    "ı": ("turkish",),
    "ą": ("polish", "lithuanian"),
    "ę": ("polish", "lithuanian"),
    "ł": ("polish",),
    "ż": ("polish",),
    "ź": ("polish",),
    "ś": ("polish",),
    "ř": ("czech",),
    "ě": ("czech",),
    "ů": ("czech",),
    "ė": ("lithuanian",),
    "ų": ("lithuanian",),
    "ū": ("lithuanian",),
}
_ALSO_ENGLISH = frozenset(
    "a ad ada aga ai al all alle allo also am ama an ant ar are as at au bat be ben bet bin biz bo bu bus by c"
    " care chi ci co col com come comment con d da dam dan das de dei den dia die dig dine dir do dog door dos du"
    " e ed en end era es et eta ex fa far fi fra go ha hai ham han has hat have he her here hi ho hon how i if im"
    " in ins io is it j ja jo just k ka kai kan kim kit l la le li lo m ma man mar me mei men mer met mi mia min"
    " mine mir mit mo mod mon more most mot mu n na nam ne ned need nes ni no non nor note o ob of ole on one only"
    " op or os out over pendant per po pole pro proto s sa sale san sans se see sense ser si sin sit so son sub"
    " sue sur t ta tai tale tas te ten then ti till to tom ton ty u under up us ut v va ve vi w war was wat we wet"
    " y ya yang z za ze zen".split()
)
"""Words of other languages that also occur in English texts: as words, names, or single letters.

They count for another language only if there are no signs of English.
"""
_ACCENTS = re.compile("[\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0670]+")
_LATER = str.maketrans({"ı": "i", "ł": "l", "ø": "o", "đ": "d", "æ": "ae", "œ": "oe"})
"""Letters that are often written without their stroke and that have no Unicode decomposition."""
_MOST_WORDS = 400
"""Maximum number of words of a text that are checked."""
_SPEAKING: dict[str, list[str]] = defaultdict(list)
for _language, _words in FUNCTION_WORDS.items():
    for _word in dict.fromkeys(_words.split()):
        _SPEAKING[_word].append(_language)
_FOREIGN = frozenset(word for word, languages in _SPEAKING.items() if ENGLISH not in languages) - _ALSO_ENGLISH
_OTHER_SCRIPTS = (
    "а без бы был была были было в вас вам вы где да для до его ее если есть еще ею же за и из или им их"
    " к как какая какие какой каких когда кого кому кто куда ли мне мой моя мы на нас нам наш не него нее"
    " нет ни но о об она они оно он от откуда по под почему при про с свой свою себя со так такой там то"
    " того только том ты тебе твой у уже что чего чем чтобы эта эти это этот я αν από για δεν είναι είχε"
    " εγώ εμείς ένα ένας έχει ή η θα και κατά με μετά μια μου να ο οι όταν ότι που ποια ποιος ποιο πού πώς"
    " σας σε στα στη στην στις στο στον στους τα την της τι τις το τον του τους των ως إلى أن أنا أنت أو"
    " أي أين إذا التي الذي الى ان انا او اي اين بعد تلك ثم حتى ذلك على عليه عن عند عندما في قبل قد كان"
    " كانت كل كم كيف لا لقد لكن لم لماذا لن له لها ليس ما ماذا متى مع من منذ نحن هذا هذه هل هم هنا هناك هو"
    " هي و يا از است اش این آن او با برای به بود تا چرا چه چند را شد شده شما کجا که کی ما من می هر هست هم"
    " و अपना अपनी अपने आप आपका इस उन उनका उनकी उनके उस उसका उसकी उसके एक और कब कर करता करती करते कहाँ का"
    " कि किस किसका किसकी किसके किसको किसने किसे की कुछ के को कौन क्या क्यों कैसे गया गई जब जो तक तो था थी"
    " थे दिया द्वारा ने पर बहुत भी मुझे मेरा मेरी मेरे मैं में यह या ये रहा रही रहे लिए लेकिन वह वे साथ से"
    " हम हर है हैं हो होता होती ही हुआ हुई"
)
"""Function words of languages with other scripts: Russian, Greek, Arabic, Persian, Hindi."""


@cache
def stop_words(language: str) -> frozenset[str]:
    """Return the words, without accents, that carry no meaning in a text of this language."""
    return frozenset(plain(word) for word in f"{FUNCTION_WORDS.get(language, '')} {_OTHER_SCRIPTS}".split())


def latin_language(words: Iterable[str]) -> str:
    """Return the language of a text in Latin letters, from its words in lower case with their accents."""
    seen = dict.fromkeys(islice(words, _MOST_WORDS))
    if _FOREIGN.isdisjoint(seen) and all(map(str.isascii, seen)):
        return ENGLISH
    votes: dict[str, float] = defaultdict(float)
    for word in seen:
        for language in _SPEAKING.get(word, ()):
            votes[language] += _vote(word, language)
        if not word.isascii():
            for letter in set(word):
                for language in _LETTERS.get(letter, ()):
                    votes[language] += 0.5
    english = votes.pop(ENGLISH, 0.0)
    if not votes:
        return ENGLISH
    best = max(FUNCTION_WORDS, key=lambda language: votes.get(language, 0.0))
    return best if votes[best] >= max(0.9, english + 0.3) else ENGLISH


def _vote(word: str, language: str) -> float:
    if word not in _ALSO_ENGLISH:
        return 1.0
    return 0.6 if language == ENGLISH else 0.45


def plain(word: str) -> str:
    """Return a word without accents: `é` and `e`, `ё` and `е`, `ı` and `i` are the same.

    `й` is a letter of its own and stays.
    """
    if word.isascii():
        return word
    apart = unicodedata.normalize("NFD", word).replace("и\u0306", "й")
    return unicodedata.normalize("NFC", _ACCENTS.sub("", apart)).translate(_LATER)
