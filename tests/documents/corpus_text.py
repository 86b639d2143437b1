"""Markdown, e-mail, plain text, JSON."""

from __future__ import annotations

from tests.documents.corpus import Case

_MARKDOWN: tuple[tuple[str, str, tuple[str, ...], tuple[str, ...]], ...] = (
    ("escaped bar", "| x | y |\n|---|---|\n| a \\| b | c |\n", ("x: a | b | y: c",), ()),
    ("empty first cell", "| x | y |\n|---|---|\n||v|\n", ("y: v",), ("x: v",)),
    ("bar in code", "| x | y |\n|---|---|\n| `a \\| b` | c |\n", ("a | b", "y: c"), ()),
    ("table without outer bars", "x | y\n--- | ---\na | c\n", ("x: a | y: c",), ()),
    ("C#", "# Working with C#\n\nText.\n", ("Working with C#",), ()),
    ("closing signs", "## Two ##\n\nText.\n", ("Two",), ("##",)),
    ("lines at the start", "---\nSome words here.\n---\n\nText.\n", ("Some words here.", "Text."), ()),
    ("front matter", "---\ntitle: Guide\nauthor: Ada\nid: 00123\n---\nText.\n", ("author: Ada", "00123", "Text."), ()),
    ("setext heading", "Guide\n=====\n\nText.\n", ("Guide", "Text."), ("=====",)),
    ("indented heading", "   ## Guide\n\nText.\n", ("Guide", "Text."), ("##",)),
    ("bold in word", "en**orm**ous\n", ("enormous",), ()),
    ("link", "See [the guide](https://a.example/x).\n", ("See the guide",), ()),
    ("reference link", "See [the guide][g].\n\n[g]: https://a.example\n", ("See the guide.",), ()),
    ("picture", "![red barn](a.png) here\n", ("red barn here",), ()),
    ("escaped signs", "2 \\* 3 = 6\n", ("2 * 3 = 6",), ()),
    ("entity", "Caf&eacute;\n", ("Café",), ()),
    ("list", "- one\n- two\n  - three\n", ("one", "two", "three"), ()),
    ("ordered list", "3. stir\n4. wait\n", ("3. stir", "4. wait"), ()),
    ("task", "- [x] done\n- [ ] open\n", ("[x] done", "[ ] open"), ()),
    ("footnote", "Words[^1].\n\n[^1]: Note\n", ("Words[1].", "1. Note"), ("↩",)),
    ("fence in a list", "- one\n  ```\n  # code\n  ```\n", ("one", "# code"), ()),
    ("indented code", "Text.\n\n    # code\n", ("Text.", "# code"), ()),
    ("quotation", "> Said Ada.\n", ("Said Ada.",), ()),
    ("struck", "~~old~~ new\n", ("old new",), ()),
    ("heading alone", "## Closed on Mondays\n", ("Closed on Mondays",), ()),
    ("autolink", "<https://a.example/x>\n", ("https://a.example/x",), ()),
    ("table in a list", "- one\n\n  | x | y |\n  |---|---|\n  | a | b |\n", ("x: a | y: b",), ()),
    ("soft hyphen", "Wert\u00adpapier\n", ("Wertpapier",), ()),
    ("word with a bar", "either | or\n", ("either | or",), ()),
    ("cells beyond the header", "| x |\n|---|\n| a | b |\n", ("x: a",), ()),
)
_MARKDOWN_HIDDEN: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("comment", "One <!-- SECRET --> two\n", ("One two",)),
    ("comment at the start", "<!-- SECRET -->\n\nOne\n", ("One",)),
    ("comment block", "One\n\n<!--\nSECRET\n\nSECRET\n-->\n\nTwo\n", ("One", "Two")),
    ("hidden in a line", "One <span style='display:none'>SECRET</span> two\n", ("One two",)),
    ("hidden block", "<div hidden>\n\nSECRET\n\n| SECRET |\n|---|\n| SECRET |\n\n</div>\n\nOne\n", ("One",)),
    ("hidden in a cell", "| x | y |\n|---|---|\n| a <b hidden>SECRET</b> | c |\n", ("x: a | y: c",)),
    ("hidden in a heading", "## One <i hidden>SECRET</i>\n\nText.\n", ("One", "Text.")),
)


def _mail(head: str, body: str | bytes, subject: str = "Hello") -> bytes:
    start = f"From: ada@a.example\nTo: bob@b.example\nSubject: {subject}\nMIME-Version: 1.0\n{head}\n\n".encode()
    return start + (body.encode() if isinstance(body, str) else body)


def _parts(kind: str, *parts: tuple[str, str]) -> bytes:
    body = "".join(f"--q\n{head}\n\n{content}\n" for head, content in parts)
    return _mail(f'Content-Type: multipart/{kind}; boundary="q"', f"{body}--q--\n")


_PLAIN, _HTML = "Content-Type: text/plain; charset=utf-8", "Content-Type: text/html; charset=utf-8"
_LETTER = "<p>Dear Bob,</p><p>the contract ends on 31 March 2026 and is renewed by letter.</p>"
_PICTURE = "Content-Type: image/png\nContent-Disposition: inline\nContent-Transfer-Encoding: base64"
_INNER = "From: eve@c.example\nSubject: Inner\nContent-Type: text/plain\n\nInner words."
_BASE64 = "Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: base64"

_MAILS: tuple[tuple[str, bytes, tuple[str, ...], tuple[str, ...], tuple[str, ...]], ...] = (
    ("empty plain beside HTML", _parts("alternative", (_PLAIN, " "), (_HTML, _LETTER)), ("31 March 2026",), (), ()),
    (
        "both the same",
        _parts("alternative", (_PLAIN, "Thirty days of leave."), (_HTML, "<p>Thirty days of leave.</p>")),
        ("Thirty days of leave.",),
        (),
        (),
    ),
    (
        "plain form spells links out",
        _parts(
            "alternative",
            (_PLAIN, "See our guide <https://a.example/guide?a=1&b=2>."),
            (_HTML, "<p>See our <a href='https://a.example/guide?a=1&amp;b=2'>guide</a>.</p>"),
        ),
        ("See our guide.",),
        (),
        (),
    ),
    (
        "page is a picture",
        _parts("alternative", (_PLAIN, "Thirty days."), (_HTML, "<img src=a.png>")),
        ("Thirty days.",),
        (),
        ("has no text",),
    ),
    (
        "text after a picture",
        _parts("mixed", (_PLAIN, "Before it."), (_PICTURE, "eA=="), (_PLAIN, "After it.")),
        ("Before it.", "After it."),
        (),
        (),
    ),
    (
        "footer of a list",
        _parts("mixed", (_HTML, _LETTER), (_PLAIN, "List rules.")),
        ("31 March 2026", "List rules."),
        (),
        (),
    ),
    ("unknown charset", _mail("Content-Type: text/plain; charset=x-unknown", "Café"), ("Café",), (), ()),
    ("us-ascii with UTF-8", _mail("Content-Type: text/plain; charset=us-ascii", "Café"), ("Café",), (), ()),
    ("no charset", _mail("Content-Type: text/plain", "Café"), ("Café",), (), ()),
    ("no type", _mail("X-A: b", "Café"), ("Café",), (), ()),
    (
        "windows-1251",
        _mail("Content-Type: text/plain; charset=windows-1251", "Привет".encode("cp1251")),
        ("Привет",),
        (),
        (),
    ),
    (
        "latin-1 as ascii",
        _mail("Content-Type: text/plain; charset=us-ascii", "Café".encode("latin-1")),
        ("Café",),
        (),
        (),
    ),
    (
        "HTML in koi8-r",
        _mail("Content-Type: text/html; charset=koi8-r", "<p>Привет</p>".encode("koi8-r")),
        ("Привет",),
        (),
        (),
    ),
    (
        "HTML with charset in meta",
        _mail("Content-Type: text/html", "<meta charset=koi8-r><p>Привет</p>".encode("koi8-r")),
        ("Привет",),
        (),
        (),
    ),
    (
        "HTML with unknown charset",
        _mail("Content-Type: text/html; charset=x-unknown", "<p>Café</p>"),
        ("Café",),
        (),
        (),
    ),
    ("base64", _mail(_BASE64, "Q2Fmw6k="), ("Café",), (), ()),
    (
        "quoted-printable",
        _mail(f"{_PLAIN}\nContent-Transfer-Encoding: quoted-printable", "enor=\nmous caf=C3=A9"),
        ("enormous café",),
        (),
        (),
    ),
    (
        "attachment",
        _parts("mixed", (_PLAIN, "See it."), (f'{_PLAIN}\nContent-Disposition: attachment; filename="a.txt"', "x")),
        ("See it.",),
        (),
        ("a.txt",),
    ),
    (
        "forwarded",
        _parts("mixed", (_PLAIN, "See below."), ("Content-Type: message/rfc822", _INNER)),
        ("See below.", "Inner words.", "eve@c.example"),
        (),
        (),
    ),
    ("related", _parts("related", (_HTML, _LETTER), (_PICTURE, "eA==")), ("31 March 2026",), (), ()),
    (
        "flowed",
        _mail("Content-Type: text/plain; format=flowed; delsp=yes", "The contract is enor \nmous."),
        ("enormous.",),
        (),
        (),
    ),
    ("raw header", _mail(_PLAIN, "Text.", "Grüße aus Köln"), ("Text.",), (), ()),
    ("broken base64", _mail(_BASE64, "Q2Fmw6k"), ("Café",), (), ()),
    (
        "encrypted",
        _parts(
            "encrypted; protocol=x",
            ("Content-Type: application/pgp-encrypted", "Version: 1"),
            ("Content-Type: application/octet-stream", "x"),
        ),
        (),
        (),
        ("encrypted",),
    ),
    ("nothing but headers", _mail(_PLAIN, ""), ("ada@a.example",), (), ("no body text",)),
    (
        "calendar",
        _parts("mixed", (_PLAIN, "Come."), ("Content-Type: text/calendar", "BEGIN:VCALENDAR\nEND:VCALENDAR")),
        ("Come.",),
        (),
        ("calendar",),
    ),
)

_INVISIBLE = (
    ("joiners", "\u200c\u200d" * 40),
    ("operators", "\u2062\u2064" * 40),
    ("fillers", "\u3164\uffa0\u115f" * 9),
    ("one filler", "\u3164"),
    ("variants", "".join(chr(0xE0100 + each) for each in b"SECRET")),
    ("variants between joiners", "".join(f"{chr(0xE0100 + each)}\u200d" for each in b"SECRET")),
    ("signs of direction", "\u200e\u200f\u2066\u2069" * 9),
    ("spaces of no width", "\u200b\ufeff\u2060" * 9),
)
_NEEDED = (
    ("hearts on fire", "❤\ufe0f\u200d🔥 1\ufe0f\u20e3"),
    ("variants of ideographs", "葛\U000e0100城"),
    ("old Hangul", "\u115f\u1161 \u1100\u1160"),
    ("marks of direction", "\u200fשלום\u200e (a)"),
)


def _spelled(text: str) -> bytes:
    """Return a text in which an invisible sign follows each letter."""
    return "".join(letter + chr(0xE0100 + number) for number, letter in enumerate(text)).encode()


_NOT_SHOWN = "do not show"
_MAILS_HIDDEN: tuple[tuple[str, bytes, tuple[str, ...], tuple[str, ...], bool], ...] = (
    (
        "View in browser",
        _parts("alternative", (_PLAIN, "SECRET View in browser: https://a.example"), (_HTML, _LETTER)),
        ("31 March 2026",),
        (_NOT_SHOWN,),
        True,
    ),
    (
        "plain form says other words",
        _parts("alternative", (_PLAIN, "SECRET words in great number " * 9), (_HTML, "<p>Good words.</p>")),
        ("Good words.",),
        (_NOT_SHOWN, "hidden text"),
        True,
    ),
    (
        "first form is a page",
        _parts("alternative", (_HTML, "<p>SECRET</p>"), (_PLAIN, "Good words.")),
        ("Good words.",),
        (_NOT_SHOWN,),
        True,
    ),
    (
        "second text of related",
        _parts("related", (_HTML, _LETTER), (f"{_PLAIN}\nContent-ID: <y>", "SECRET")),
        ("31 March 2026",),
        ("1 attachments were not read",),
        False,
    ),
    (
        "root of related by its name",
        _parts('related; start="<y>"', (_HTML, "SECRET"), (f"{_HTML}\nContent-ID: <y>", _LETTER)),
        ("31 March 2026",),
        ("1 attachments were not read",),
        False,
    ),
    (
        "parameters of enriched text",
        _mail("Content-Type: text/enriched", "<color><param>SECRET</param>Red</color> <<b> <bold>rose</bold>"),
        ("Red <b> rose",),
        ("hidden text",),
        True,
    ),
)


def _nested_alternatives(depth: int) -> bytes:
    """Return a message whose forms would be read 2 to the power of depth times, if each were read twice."""
    heads = "".join(
        f"Content-Type: multipart/alternative; boundary=b{level}\n\n--b{level}\nContent-Type: text/plain\n\nword\n"
        f"--b{level}\n"
        for level in range(depth)
    )
    ends = "".join(f"--b{level}--\n" for level in reversed(range(depth)))
    return f"From: a@b\n{heads}Content-Type: text/html\n\n<p>a b c d e</p>\n{ends}".encode()


_LONG = "Everybody has thirty days of leave " * 9 + "BUTNOTNOW"
_LONG_HEADINGS = (
    Case("long heading: markdown", "markdown", f"# {_LONG}\n\nText.\n".encode(), once=("BUTNOTNOW", "Text.")),
    Case("long heading: html", "html", f"<h2>{_LONG}</h2>".encode(), once=("BUTNOTNOW",)),
    Case("long heading without spaces", "html", f"<h2>{'a' * 300}BUTNOTNOW</h2>".encode(), once=("BUTNOTNOW",)),
)

CASES: tuple[Case, ...] = (
    *(Case(f"markdown: {name}", "markdown", text.encode(), shown, absent) for name, text, shown, absent in _MARKDOWN),
    *(
        Case(f"markdown hidden: {name}", "markdown", text.encode(), shown, ("SECRET",), (), ("hidden",), True)
        for name, text, shown in _MARKDOWN_HIDDEN
    ),
    Case("markdown: script", "markdown", b"One\n\n<script>SECRET</script>\n", ("One",), ("SECRET",), notes=("script",)),
    *(
        Case(f"markdown: nothing read {text!r}", "markdown", text.encode(), notes=("nothing was read",))
        for text in ("", "\n \n", "[g]: https://a.example\n")
    ),
    *(Case(f"mail: {name}", "email", data, shown, absent, notes=notes) for name, data, shown, absent, notes in _MAILS),
    Case(
        "mail: hidden in HTML",
        "email",
        _mail(_HTML, "<table><tr><td>One <b style='display:none'>SECRET</b></td></tr></table>"),
        ("One",),
        ("SECRET",),
        (),
        ("hidden",),
        True,
    ),
    *(
        Case(f"mail hidden: {name}", "email", data, shown, ("SECRET",), notes=notes, hidden=hidden)
        for name, data, shown, notes, hidden in _MAILS_HIDDEN
    ),
    Case("mail: nested alternatives", "email", _nested_alternatives(18), once=("a b c d e",), hidden=True),
    *_LONG_HEADINGS,
    Case("text: soft hyphen", "text", "Wert\u00adpapier".encode(), ("Wertpapier",)),
    Case(
        "text: tag characters",
        "text",
        ("One" + "".join(chr(0xE0000 + ord(each)) for each in "SECRET")).encode(),
        ("One",),
        ("\U000e0053",),
        (),
        ("hidden",),
        True,
    ),
    Case(
        "text: a flag",
        "text",
        "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f wins".encode(),
        ("🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f wins",),
    ),
    *(
        Case(f"text: invisible {name}", "text", f"One{signs} two".encode(), ("One two",), (), (), ("hidden",), True)
        for name, signs in _INVISIBLE
    ),
    Case("text: one variant a letter", "text", _spelled("One two"), ("One two",), notes=("hidden",), hidden=True),
    Case("text: turned round", "text", "One \u202eowt\u202c three".encode(), ("One two three",), ("owt",)),
    *(Case(f"text: {name} stay", "text", text.encode(), (text,)) for name, text in _NEEDED),
    Case("text: operators of formulas", "text", "f\u2061(x) = 2\u2062x".encode(), ("f(x) = 2x",)),
    Case("text: joiners stay", "text", "👩\u200d🌾 می\u200cخواهم".encode(), ("👩\u200d🌾 می\u200cخواهم",)),
    *(
        Case(f"text: nothing read {text!r}", "text", text, notes=("nothing was read", "empty"))
        for text in (b"", b" \n", b"\xef\xbb\xbf")
    ),
    Case("json: nothing read", "json", b"[]", notes=("nothing was read",)),
    Case("json: truth and zero", "json", b'{"a": false, "b": 0, "c": [true, null]}', ("a: false | b: 0",)),
    Case("json: soft hyphen", "json", '{"a": "Wert\u00adpapier"}'.encode(), ("a: Wertpapier",)),
)
