"""Words of instructions to a model, by what they mean, in the languages that Keeps reads. Pure.

A word that ends in `*` stands for all words that begin so. Words of scripts without spaces are searched anywhere.
"""

from __future__ import annotations

import re
from enum import Flag, auto


class Sense(Flag):
    """What a word may mean in an instruction."""

    NONE = 0
    OVERRIDE = auto()
    """Leave aside: ignore, forget."""
    VOID = auto()
    """Is no longer valid: void, replaced."""
    PRIOR = auto()
    """What came before: previous, above, all."""
    ORDERS = auto()
    """Instructions, rules, prompts."""
    MODEL = auto()
    """A name for the model: assistant, bot."""
    USER = auto()
    """The user, in the third person."""
    SEND = auto()
    """Give away: send, upload, reveal, append."""
    SECRET = auto()
    """What must not be given away: passwords, keys."""
    INNER = auto()
    """What only the model sees: conversation, memory, context."""
    TELL = auto()
    """Say, inform, mention."""
    NOT = auto()
    """Not, never, without."""
    PRIVATE = auto()
    """What belongs to the user: address, files, calendar."""
    CONFIRM = auto()
    """Ask, confirm, approve: a person's say in what happens."""
    TOOL = auto()
    """Tools, functions, the shell."""
    DO = auto()
    """Do something with effect: run, delete, transfer, approve."""
    SAY = auto()
    """Give as an answer: recommend, say, answer."""
    TRIGGER = auto()
    """When, if, once."""
    KEEP = auto()
    """Remember, store, save."""
    LASTING = auto()
    """For ever, in future sessions, always."""
    MEMORY = auto()
    """Memory, profile, sessions."""
    CONSENT = auto()
    """Has consented, trusts, authorised."""
    FREE = auto()
    """Without limits: unrestricted, unfiltered."""
    LIMIT = auto()
    """Restrictions, filters, policies."""
    BECOME = auto()
    """Act as, pretend, from now on."""
    TURN = auto()
    """The point of a change: now, no longer, mode."""
    GUARD = auto()
    """What protects: warnings, confirmations, two-factor."""


_WORDS: dict[Sense, str] = {
    Sense.OVERRIDE: """
        ignore disregard forget override bypass overwrite neglect unlearn ignoriere ignoriert ignorieren vergiss vergesst
        missachte missachten übergehe olvida olvide olviden ignora ignorad ignoren omite desatiende oublie oubliez ignorez
        néglige négligez dimentica dimenticate ignorate esqueça esquece desconsidere ignorem negeer vergeet zignoruj
        zapomnij ignoruj игнорируй* забудь* проигнорируй* yoksay unut 忽略 无视 無視 忘记 忘れ 忘掉 تجاهل انس 무시 잊어
        discard dismiss übersieh verwirf descarta deseche écarte scarta scorda descarte откажись пренебреги 抛弃 放弃
        """,
    Sense.VOID: """
        void invalid obsolete replaced superseded cancelled canceled revoked suspended disabled overridden ungültig
        aufgehoben ersetzt anuladas anulada reemplazadas annulées remplacées annullate sostituite anuladas отменены
        заменены 作废 失效 無効
        """,
    Sense.PRIOR: """
        previous prior earlier above before preceding former foregoing all every everything any existing initial original
        current so_far bisherig* vorherig* alle allen vorig* obig* anterior* previa* previo* todas todos toutes tous tout
        précédent* precedent* tutte tutti anteriori предыдущ* прежн* все 之前 以前 所有 先前 これまで すべて 全て السابقة
        جميع كل 이전 모든 poprzedni* wszystkie vorige eerdere önceki
        früher* vorangehend* preceding foregoing sämtlich* anteriores прошл* complete entire whole full 完整
        前の frühere früheren alten vecchie antiguas anciennes старые
        """,
    Sense.ORDERS: """
        instruction instructions prompt prompts rule rules guideline guidelines directive directives policy policies orders
        programming constraints safeguards task tasks told training anweisung anweisungen vorgabe* systemvorgabe* regel
        regeln richtlinie* instrucción instrucciones regla reglas directriz directrices indicaciones consigne consignes
        règle règles directives istruzioni istruzione regole instruções instrução regras инструкци* правил* указани*
        指令 指示 规则 ルール 命令 提示词 التعليمات القواعد الأوامر 지시 규칙 명령 instrukcj* zasad* instructies regels talimat*
        command commands requirement requirements mandate specification brief vorschrift* befehl* órdenes ordenes normas ordres ordine ordini comandos приказ* 规定 規則
        detto dicho gesagt dit сказано
        """,
    Sense.MODEL: """
        assistant assistants ai ais model models agent agents bot bots chatbot chatbots llm llms gpt claude copilot
        gemini assistent assistenten ki sprachmodell asistente ia assistente modelo modèle ассистент* ии модел* нейросет*
        助手 人工智能 アシスタント モデル エージェント المساعد النموذج 어시스턴트 asystent* asistan
        """,
    Sense.USER: """
        user users user's users' human human's operator operator's customer customer's nutzer nutzers nutzern nutzerin
        benutzer benutzers anwender usuario usuaria usuarios utilisateur utilisateurs utente utenti usuário usuária
        пользовател* 用户 使用者 ユーザー 利用者 المستخدم 사용자 użytkownik* gebruiker* kullanıcı*
        """,
    Sense.SEND: """
        send forward email mail post upload append include put paste type encode embed leak reveal print output repeat disclose
        exfiltrate transmit copy share submit publish dump attach echo expose deliver relay schick schicke schicken sende
        senden leite gib verrate übermittle poste hänge zeige envía envia envíe manda revela reenvía muestra publica sube
        envoie envoyez transmets révèle divulgue affiche publie transfère invia invii rivela mostra inoltra envie revele
        encaminhe отправь* перешли* раскрой* покажи* выведи* 发送 泄露 透露 输出 转发 发给 送信 送って 転送 公開 開示 表示して
        أرسل اكشف أفصح انشر 보내 전송 공개 출력 wyślij ujawnij prześlij stuur verstuur onthul gönder
        upload provide hand gebe hänge lade kopiere teile veröffentliche leake übertrage mande comparte copia divulga partage copie condividi compartilhe 上传 上傳 アップロード اعرض انسخ
        show display list collect gather extract summarise translate quote teilen exporte exportiere exporta exporte zip
        """,
    Sense.SECRET: """
        password passwords passphrase passcode credential credentials secret secrets token tokens key keys apikey cookie
        cookies pin otp iban cvv ssn passwort passwörter kennwort zugangsdaten schlüssel contraseña contraseñas clave
        claves credenciales clé clés identifiants mots credenziali chiavi senha senhas chave chaves credenciais парол*
        ключ* секрет* 密码 密钥 口令 凭证 パスワード 秘密 鍵 كلمة السر المرور المفاتيح 비밀번호 열쇠 hasło hasła klucz*
        wachtwoord* şifre*
        """,
    Sense.INNER: """
        conversation conversations chat history transcript context memory memories prompt instructions environment
        gesprächsverlauf verlauf gespräch erinnerungen gedächtnis systemprompt historial
        conversación memoria recuerdos historique mémoire cronologia conversazione histórico conversa memória истори*
        переписк* памят* 对话 记忆 聊天 系统提示 会話 記憶 履歴 المحادثة الذاكرة 대화 기억 rozmow* gesprek geheugen sohbet
        messages gespräch* gedächtnis* erinnerung* nachrichtenverlauf chatverlauf mensajes conversaciones conversations messages messaggi mensagens сообщени* диалог* 消息 メッセージ الرسائل
        notes wording balance
        """,
    Sense.PRIVATE: """
        address addresses location phone calendar contacts photos pictures files documents data salary health appointments
        inbox mails emails adresse telefonnummer standort kontakte dateien daten kalender fotos dirección teléfono ubicación
        contactos archivos datos agenda téléphone fichiers données contacts coordonnées indirizzo telefono file dati
        endereço arquivos dados адрес* телефон* файл* данн* контакт* 地址 电话 文件 数据 通讯录 住所 電話番号 ファイル データ 連絡先
        عنوان هاتف ملفات بيانات 주소 전화번호 파일 데이터
        kontaktdat* private personal confidential contact balance bookings purchases vertraulich* privat* personal*
        """,
    Sense.TELL: """
        tell inform mention notify warn alert say disclose reveal explain report informing telling mentioning notifying
        warning alerting saying sag sage sagen erwähne erwähnen informiere informieren warne digas diga decir decirlo
        avisar avises menciones mencionar dis dites dire prévenir mentionner informer dica dire avvisare informare avisar
        говори* сообщай* упоминай* 告诉 告知 提及 提醒 伝え 知らせ 言わ 通知 تخبر تذكر تقل 말하 알리 mów informuj zeg vertel
        söyle
        admit admitting hint verrate verraten erzähl* erfährt sepa enterar sache apprenne sappia saiba узнал* 知道 悟られ
        melde melden berichte
        """,
    Sense.NOT: """
        not never don't dont without no cannot secretly silently quietly covertly nicht nie niemals ohne kein keine keinen
        heimlich nichts no nunca sin jamás ne pas jamais sans aucun aucune rien non mai senza nunca sem não не никогда без
        不要 不得 别 不会 ないで せず ない لا دون بدون 말고 않 nie bez niet nooit zonder
        unasked keinesfalls ohne_dass nadie jamas personne nessuno ninguém 没有 任何 绝不 決して まない ません
        """,
    Sense.CONFIRM: """
        ask asking confirm confirmation confirmations approval approvals approve permission consent check checks verify
        verification checking question questions review fragen rückfrage* bestätigung* zustimmung nachfrage bestätige* confirma confirme conferma подтверди* preguntar
        confirmación permiso aprobación demander confirmation autorisation chiedere conferma perguntar confirmação
        спрашива* подтверждени* 确认 询问 批准 確認 許可 تأكيد إذن 확인 potwierdz* bevestiging onay
        pidas pida pide bestätigen consult consulting genehmigung rückfragen demande demandes chiedi подтвержд* 审核 承認
        wait waiting answer prüfung* warten warte esperar espera attendre aspettare
        """,
    Sense.TOOL: """
        tool tools function functions shell terminal command commands plugin plugins script curl bash powershell api
        werkzeug werkzeuge konsole befehl herramienta herramientas terminal outil outils strumento ferramenta инструмент*
        команд* терминал* 工具 函数 终端 ツール 関数 コマンド الأداة أداة 도구 narzędzi* gereedschap araç
        browser mailbox werkzeugen konsole befehle herramienta_* function_call 浏览器 ブラウザ
        """,
    Sense.DO: """
        run call use execute invoke open transfer pay delete drop install approve merge click buy order wire grant purchase
        book reserve replace change add remove fill enter subscribe accept sign push commit deploy visit download disable
        erase invite cancel refund rufe führe lösche überweise bezahle installiere bestelle klicke öffne ändere buche
        ejecuta llama borra transfiere paga instala reserva compra cambia añade exécute appelle supprime vire paie
        installe achète esegui chiama cancella trasferisci paga execute chame apague transfira pague выполни* вызови*
        удали* переведи* оплати* 执行 调用 删除 转账 支付 安装 実行 呼び出 削除 振り込 送金 نفذ احذف حول ادفع 실행 삭제 송금
        wykonaj usuń przelej uitvoeren verwijder
        invoke fetch load insert append push navigate place set switch turn disable deactivate log write choose füge trage kaufe schalte deaktiviere überschreibe utiliza usa emplea borre elimine instale ajoute modifie désactive clique inserisci aggiungi disattiva clica insira adicione desative вставь* добавь* отключи* купи* 添加 修改 购买 关闭 追加 変更 購入 無効 أضف غير اشتر 추가 변경 구매 dodaj zmień kup voeg wijzig koop
        start type edit give hand promise assign increase raise move rename
        """,
    Sense.SAY: """
        recommend say answer reply respond tell suggest claim state praise insist pretend promote advise mention quote
        report describe present empfiehl empfehle antworte sage behaupte recomienda responde di afirma recommande réponds
        dis affirme consiglia rispondi recomende responda diga рекомендуй* отвечай* скажи* 推荐 回答 说 告诉 推薦 答え 言って
        勧め أجب قل أوص 추천 대답 polecaj odpowiadaj beveel antwoord
        refer present push favour favor name warn nenne nenn sag sage verweise rate bewirb menciona aconseja conseille mentionne envoie cite indica menzione называй* советуй* упоминай* 薦め 勧めて 宣传 介绍
        blame promise praise hide lobe behaupte verspreche oculta muestra cache mostra
        """,
    Sense.TRIGGER: """
        when whenever if once after until wenn sobald falls cuando si tras quand lorsque dès quando se когда если 当 如果
        每当 たら とき 場合 عندما إذا 때 면 gdy kiedy jeśli wanneer als
        upon whenever while sooft nachdem cada chaque ogni каждый 每次 一旦 すると
        """,
    Sense.KEEP: """
        remember store save memorize memorise note keep record add update mark learn retain merke speichere notiere behalte
        recuerda guarda anota memoriza retiens enregistre note mémorise souviens ricorda memorizza salva lembre guarde
        запомни* сохрани* 记住 记下 保存 覚え 記憶して 保存して تذكر احفظ 기억 저장 zapamiętaj zapisz onthoud bewaar
        write record memorise remind put treat speichern vermerke vermerk notier guarde grabe apunta inscris enregistrez registra anote registre занеси 存储 写入 書き込
        merk memorize memorizes apprends
        """,
    Sense.LASTING: """
        always permanently forever future later long-term every never persistently dauerhaft immer künftig* zukünftig*
        fortan siempre permanentemente futur* toujours désormais permanence sempre permanentemente всегда навсегда
        永远 永久 今后 以后 总是 今後 常に 永久に دائما دائمًا 항상 앞으로 zawsze altijd
        lifelong good permanent ewig stets jedes jeder jedem cada toutes chaque ogni 每次 必须 毎回
        """,
    Sense.MEMORY: """
        memory memories profile sessions conversations chats long-term gedächtnis profil
        erinnerungen sitzungen memoria recuerdos perfil mémoire mémoires profil memorie memória perfil памят* профил*
        记忆 会话 档案 記憶 メモリ プロフィール الذاكرة ذاكرتك 메모리 프로필 pamięc* geheugen
        """,
    Sense.CONSENT: """
        consented consents approved approves authorised authorized agreed agrees trusts trust trusted waived enabled
        permitted allowed allows wants confirmed opted given zugestimmt erlaubt vertraut genehmigt freigegeben
        autorizado consentido aceptado confía confia permitido autorisé accepté consenti permis autorizzato accettato
        autorizou concordou разрешил* согласил* доверяет 同意 授权 信任 允许 許可 承認 信頼 وافق يثق سمح 동의 허용 신뢰
        zgodził zgodę ufa toegestemd vertrouwt
        administrator admin owner superuser safe verified harmless secure legitimate access waives ablehnt autoriza acepta permite autorise autorizza autoriza администратор* безопас* 安全 管理员 管理者 安全
        sûr seguro segura sicher sicuro reliable sender senders permission unlimited consent erlaubnis zugestimmt
        """,
    Sense.FREE: """
        unrestricted unfiltered uncensored jailbroken jailbreak dan limitless unlimited obey obeys obedient
        uneingeschränkt gehorche obedece obedeces obéis obbedisci obedeça подчиняйся 不受限制 没有限制 制限なし 制限のない
        無制限 قيود 제한없
        freed unbound god unshackled entfesselt libre libéré libero свободн* 无限制 無制約 服从 従え
        libre omega filterlos senza_limiti
        """,
    Sense.LIMIT: """
        restriction restrictions limit limits filter filters rule rules policy policies safety guideline guidelines
        censorship boundaries ethics refuse refuses decline declines einschränkung* filter grenzen regeln límites
        restricciones filtros limites restriction* filtres limiti restrizioni filtri restrições ограничени* фильтр*
        限制 约束 制限 قيود 제한 ogranicz* beperking* filters
        off-limits apply taboo tabu refuse refuses refuser rehusa rifiuta 規制 拒绝 拒否
        règle regla regola grenze schranke* forbidden allowed
        """,
    Sense.BECOME: """
        act pretend roleplay role-play simulate imagine become behave assume play spiel spiele finge actúa actua fais joue
        fingi recita finja aja притворись веди 扮演 假装 ふりをして 演じ تظاهر 연기
        speak pose impersonate embody comporte stell sprich habla parle behave vorstellen
        """,
    Sense.TURN: """
        now longer persona character role identity mode jetzt nunmehr ahora désormais maintenant ora adesso agora rolle papel
        rôle ruolo теперь отныне роль 现在 今から これから الآن 이제 teraz nu 角色 役割
        """,
    Sense.GUARD: """
        warning warnings confirmation confirmations two-factor 2fa verification authentication security safety check
        checks approval approvals safeguards sicherheitswarnung* warnungen bestätigung* advertencias confirmaciones
        avertissements confirmations avvisi conferme avisos предупреждени* 警告 验证 確認 التحذيرات 경고
        alerts alert protection protections antivirus firewall guardrails schutz warnhinweis* alertas protección protections protezione proteção защит* 防护 セキュリティ
        prüfung* review reviews antivirus
        """,
}
_EXACT: dict[str, Sense] = {}
_BEGINNINGS: dict[str, Sense] = {}
_ANYWHERE: list[tuple[str, Sense]] = []
_SPACELESS = re.compile("[\u0600-\u06ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
for _sense, _listed in _WORDS.items():
    for _word in _listed.split():
        if _SPACELESS.match(_word):
            _ANYWHERE.append((_word, _sense))
        elif _word.endswith("*"):
            _BEGINNINGS[_word[:-1]] = _BEGINNINGS.get(_word[:-1], Sense.NONE) | _sense
        else:
            _EXACT[_word] = _EXACT.get(_word, Sense.NONE) | _sense
_PARTS = re.compile("['-]")
"""Joints of words: "l'utilisateur", "envoie-le"."""
_LENGTHS = sorted({len(_beginning) for _beginning in _BEGINNINGS})
_MOST_CACHED = 20_000
_cached: dict[str, Sense] = {}


def sense_of(word: str) -> Sense:
    """Return what a word in lower case may mean."""
    sense = _cached.get(word)
    if sense is None:
        sense = _EXACT.get(word, Sense.NONE)
        for part in _PARTS.split(word)[:4] if _PARTS.search(word) else ():
            sense |= _EXACT.get(part, Sense.NONE)
        for length in _LENGTHS:
            if length > len(word):
                break
            sense |= _BEGINNINGS.get(word[:length], Sense.NONE)
        if len(_cached) >= _MOST_CACHED:
            _cached.clear()
        _cached[word] = sense
    return sense


def senses_without_spaces(sentence: str) -> Sense:
    """Return what the words of a sentence may mean in scripts that are searched anywhere."""
    found = Sense.NONE
    if _SPACELESS.search(sentence) is not None:
        for word, sense in _ANYWHERE:
            if word in sentence:
                found |= sense
    return found
