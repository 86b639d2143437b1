"""HTML: hidden text, visible text, words, tables, character sets."""

from __future__ import annotations

from tests.documents.corpus import Case

_HIDING = (
    ("hidden", ""),
    ("style='display:none'", ""),
    ("style='DISPLAY : none !important'", ""),
    ("style='display:/**/none'", ""),
    (r"style='display:n\6fne'", ""),
    ("style='visibility:hidden'", ""),
    ("style='visibility:collapse'", ""),
    ("style='opacity:0'", ""),
    ("style='opacity:0.0'", ""),
    ("style='font-size:0'", ""),
    ("style='font-size:0px'", ""),
    ("style='font:0/0 a'", ""),
    ("style='color:#fff'", ""),
    ("style='color:white;background:#ffffff'", ""),
    ("style='color:transparent'", ""),
    ("style='color:#eee;background:#eeeeee'", ""),
    ("class=gone", "<style>body{background:#000}.gone{color:rgb(0,0,0)}</style>"),
    ("style='color:rgba(0,0,0,0)'", ""),
    ("style='position:absolute;left:-9999px'", ""),
    ("style='text-indent:-9999px'", ""),
    ("style='height:0;overflow:hidden'", ""),
    ("style='position:absolute;clip:rect(0,0,0,0)'", ""),
    ("style='clip-path:inset(100%)'", ""),
    ("style='transform:scale(0)'", ""),
    ("aria-hidden=true", ""),
    ("class=gone", "<style>.a, .gone { display: none }</style>"),
    ("id=gone", "<style media=screen>#gone{visibility:hidden}</style>"),
    ("class='b gone'", "<style>@media all{p .gone{font-size:0}}</style>"),
)


def _page(body: str, head: str = "") -> bytes:
    return f"<!doctype html><html><head>{head}</head><body>{body}</body></html>".encode()


def _hidden() -> list[Case]:
    cases = [
        Case(
            f"hidden span: {attributes} {head}",
            "html",
            _page(f"<p>Before <span {attributes}>SECRET</span> after</p>", head),
            ("Before after",),
            ("SECRET",),
            notes=("hidden",),
            hidden=True,
        )
        for attributes, head in _HIDING
    ]
    secret = "<span style='display:none'>SECRET</span>"
    places = (
        ("cell", f"<table><tr><td>Price {secret} 5</td></tr></table>", ("Price 5",)),
        ("header cell", f"<table><tr><th>Price {secret}</th></tr><tr><td>5</td></tr></table>", ("Price: 5",)),
        ("hidden row", "<table><tr><td>5</td></tr><tr hidden><td>SECRET</td></tr></table>", ("5",)),
        ("hidden cell", "<table><tr><td>5</td><td hidden>SECRET</td><td>6</td></tr></table>", ("5", "6")),
        ("hidden table", "<p>5</p><table style='display:none'><tr><td>SECRET</td></tr></table>", ("5",)),
        ("hidden table part", "<table><tbody><tr><td>5<tbody hidden><tr><td>SECRET</table>", ("5",)),
        ("heading", f"<h2>Title {secret}</h2><p>Text.</p>", ("Title", "Text.")),
        ("list", f"<ul><li>One {secret}</li></ul>", ("One",)),
        ("preformatted", f"<pre>One {secret}\nTwo</pre>", ("One", "Two")),
        ("caption", f"<table><caption>One {secret}</caption><tr><td>5</td></tr></table>", ("One", "5")),
        ("template", "<p>One</p><template>SECRET</template>", ("One",)),
        ("hidden input", "<form>One<input type=hidden value=SECRET></form>", ("One",)),
        ("closed dialog", "<p>One</p><dialog>SECRET</dialog>", ("One",)),
        ("hidden body part", "<div hidden><p>SECRET</p><table><tr><td>SECRET</td></tr></table></div>One", ("One",)),
        ("tag characters", "<p>One" + "".join(chr(0xE0000 + ord(each)) for each in "SECRET") + "</p>", ("One",)),
        ("comment", "<p>One <!-- SECRET --></p>", ("One",)),
        ("white font", "<p>One <font color=white>SECRET</font></p>", ("One",)),
    )
    cases += [
        Case(
            f"hidden: {name}",
            "html",
            _page(body),
            shown,
            ("SECRET", "\U000e0053"),
            notes=("hidden",),
            hidden=True,
        )
        for name, body, shown in places
    ]
    scripts = (
        ("cell", "<table><tr><td><script>var SECRET=1;</script>ok<button>Edit</button></td></tr></table>", "ok Edit"),
        ("heading", "<h2>Title<style>.SECRET{}</style></h2><p>Text.</p>", "Title"),
        ("paragraph", "<p>One<script>SECRET()</script> two</p>", "One two"),
        ("preformatted", "<pre>One<script>SECRET()</script></pre>", "One"),
    )
    return cases + [
        Case(f"script: {name}", "html", _page(body), (shown,), ("SECRET",), notes=("script",))
        for name, body, shown in scripts
    ]


_VISIBLE = (
    (
        "form",
        "<form><h1>Order</h1><p>Thirty days.</p><table><tr><td>5 days</td></tr></table></form>",
        ("Thirty days.",),
    ),
    ("aside", "<aside>Beside it.</aside>", ("Beside it.",)),
    ("button", "<button>Send it</button>", ("Send it",)),
    ("article footer", "<article><p>A.</p><footer>By Ada.</footer></article>", ("By Ada.",)),
    ("quote footer", "<blockquote>A.<footer>By Ada.</footer></blockquote>", ("By Ada.",)),
    ("page footer", "<p>A.</p><footer>Call 555.</footer>", ("Call 555.",)),
    ("noscript", "<noscript><p>Call 555.</p></noscript>", ("Call 555.",)),
    ("alt", "<p>A <img src=a.png alt='red barn'> here</p>", ("A red barn here",)),
    ("alt in cell", "<table><tr><td><img src=a.png alt='yes'></td><td>5</td></tr></table>", ("yes | 5",)),
    ("values of inputs", "<form>Name <input value='Ada Klein'><textarea>Note</textarea></form>", ("Ada Klein", "Note")),
    ("chosen option", "<select><option>Tea<option selected>Milk</select>", ("Milk",)),
    ("svg text", "<svg><text>Label</text></svg>", ("Label",)),
    ("details", "<details><summary>More</summary>Thirty days.</details>", ("More", "Thirty days.")),
    (
        "visible child of hidden",
        "<div style='visibility:hidden'><b style='visibility:visible'>Seen</b></div>",
        ("Seen",),
    ),
    ("sized child of no size", "<div style='font-size:0'><b style='font-size:16px'>Seen</b></div>", ("Seen",)),
    ("white on blue", "<table bgcolor=navy><tr><td style='color:white'>Seen</td></tr></table>", ("Seen",)),
    ("white header", "<table><tr style='background:#036'><th style='color:#fff'>Seen</th></tr></table>", ("Seen",)),
    ("half opacity", "<p style='opacity:0.5;font-size:0.8em'>Seen</p>", ("Seen",)),
    ("print style", "<style>@media print{p{display:none}}</style><p>Seen</p>", ("Seen",)),
    ("style undone", "<style>p{display:none}.on{display:block}</style><p class=on>Seen</p>", ("Seen",)),
    ("hover style", "<style>p:hover{display:none}</style><p>Seen</p>", ("Seen",)),
    ("open dialog", "<dialog open>Seen</dialog>", ("Seen",)),
    ("menu alone", "<nav><a>Seen</a></nav>", ("Seen",)),
    ("text in body", "Seen<p>Text.</p>and after", ("Seen", "Text.", "and after")),
    ("heading alone", "<h2>Closed on Mondays</h2>", ("Closed on Mondays",)),
    ("list of definitions", "<dl><dt>Tea<dd>Hot</dl>", ("Tea", "Hot")),
)
_WORDS = (
    ("bold in word", "<p>en<b>orm</b>ous</p>", "enormous"),
    ("comma in span", "<p>Hello<span>,</span> you</p>", "Hello, you"),
    ("full stop after link", "<p>See <a href=x>here</a>.</p>", "See here."),
    ("line in cell", "<table><tr><td>Anna<br>Klein</td></tr></table>", "Anna Klein"),
    ("paragraphs in cell", "<table><tr><td><p>Anna</p><p>Klein</p></td><td>5</td></tr></table>", "Anna Klein | 5"),
    ("list in cell", "<table><tr><td><ul><li>Anna<li>Klein</ul></td><td>5</td></tr></table>", "Anna"),
    ("line in heading", "<h2>Anna<br>Klein</h2><p>x</p>", "Anna Klein"),
    ("subscript", "<p>H<sub>2</sub>O</p>", "H2O"),
    ("subscript in cell", "<table><tr><td>H<sub>2</sub>O</td></tr></table>", "H2O"),
    ("power of ten", "<p>10<sup>6</sup> cells</p>", "10⁶ cells"),
    ("ordinal", "<p>the 1<sup>st</sup> day</p>", "the 1st day"),
    ("possible break", "<p>Donau<wbr>dampf</p>", "Donaudampf"),
    ("soft hyphen", "<p>Wert&shy;papier</p>", "Wertpapier"),
    ("zero width space", "<p>Wert\u200bpapier</p>", "Wertpapier"),
    ("empty comment in word", "<p>en<!-- -->ormous</p>", "enormous"),
    ("block spans", "<p><span style='display:block'>Anna</span><span style='display:block'>Klein</span></p>", "Klein"),
    ("ruby", "<p><ruby>漢<rt>kan</rt></ruby></p>", "漢(kan)"),
    ("break in code", "<pre>one<br>two</pre>", "one"),
    ("entities", "<p>Caf&eacute; &amp; bar&nbsp;x</p>", "Café & bar x"),
    ("ordered list", "<ol><li>Stir.<li>Wait.</ol>", "2. Wait."),
    ("list within a list", "<ul><li>One<ul><li>Two</ul></ul>", "Two"),
)
_NESTED = "<table><tr><td>" * 4 + "deep words" + "</td></tr></table>" * 4
_TABLES = (
    ("nested four deep", _NESTED, ("deep words",), ("deep words",)),
    (
        "nested beside text",
        "<table><tr><td>outer words<table><tr><td>inner words</td></tr></table></td><td>next</td></tr></table>",
        ("outer words", "inner words", "next"),
        ("outer words", "inner words", "next"),
    ),
    (
        "two header rows",
        "<table><tr><th rowspan=2>City<th colspan=2>2025<tr><th>Q1<th>Q2<tr><td>Leeds<td>5<td>6</table>",
        ("City: Leeds", "2025 Q1: 5", "2025 Q2: 6"),
        ("Leeds",),
    ),
    (
        "row headers",
        "<table><tr><th>City<th>Hotel<tr><th scope=row>Leeds<td>Dalton</table>",
        ("City: Leeds | Hotel: Dalton",),
        ("Leeds",),
    ),
    ("row headers alone", "<table><tr><th>Name<td>Ada<tr><th>City<td>Leeds</table>", ("Name: Ada", "City: Leeds"), ()),
    (
        "thead without th",
        "<table><thead><tr><td>City<td>Hotel<tbody><tr><td>Leeds<td>Dalton</table>",
        ("City: Leeds | Hotel: Dalton",),
        (),
    ),
    (
        "spans once",
        "<table><tr><th>A<th>B<th>C<tr><td rowspan=2>Long<td colspan=2>Wide<tr><td>x<td>y</table>",
        ("A: Long", "Wide", "B: x | C: y"),
        ("Long", "Wide"),
    ),
    (
        "more cells than names",
        "<table><tr><th>A<tr><td>one<td>two</table>",
        ("A: one | two",),
        ("two",),
    ),
    ("layout", "<table><tr><td><h1>Title</h1><p>One.</p><p>Two.</p></td></tr></table>", ("One.", "Two."), ("One.",)),
    ("header alone", "<table><tr><th>Only<th>Heads</table>", ("Only | Heads",), ("Only",)),
    ("empty first name", "<table><tr><td><th>Q1<tr><th>Leeds<td>5</table>", ("Leeds | Q1: 5",), ()),
)
_CHARSETS = (
    ("windows-1251", "<meta charset=windows-1251>", "Привет мир", "cp1251"),
    ("shift_jis", "<meta charset='Shift_JIS'>", "株価は高い", "cp932"),
    ("iso-8859-1", '<meta http-equiv=Content-Type content="text/html; charset=iso-8859-1">', "Café “x”", "cp1252"),
    ("gb2312", "<meta charset=gb2312>", "股票价格", "gbk"),
    ("euc-kr", "<meta charset=euc-kr>", "주가", "cp949"),
    ("koi8-r", "<meta charset=koi8-r>", "Привет", "koi8-r"),
    ("utf-16 with mark", "", "Привет", "utf-16"),
    ("utf-16 declared", "<meta charset=utf-16>", "Café", "utf-8"),
    ("utf-16le without mark", "", "Привет", "utf-16-le"),
    ("utf-8 mark wins", "<meta charset=windows-1251>", "Café", "utf-8-sig"),
    ("nothing declared", "", "Café", "cp1252"),
    ("nothing declared utf-8", "", "Привет", "utf-8"),
    ("unknown name", "<meta charset=x-unknown>", "Café", "utf-8"),
    ("XML declaration", '<?xml version="1.0" encoding="windows-1251"?>', "Привет", "cp1251"),
)
_EMPTY = (
    ("empty file", b"", "empty"),
    ("blank", b"  \n ", "empty"),
    ("frameset", b"<html><frameset cols='1,2'><frame src=a.html></frameset></html>", "frame"),
    ("script alone", b"<html><body><div id=app></div><script>start()</script></body></html>", "script"),
    ("all hidden", b"<body style='display:none'><p>SECRET</p></body>", "hidden"),
    ("iframe", b"<p></p><iframe src=a.html></iframe>", "frame"),
)

CASES: tuple[Case, ...] = (
    *_hidden(),
    *(Case(f"visible: {name}", "html", _page(body), shown) for name, body, shown in _VISIBLE),
    *(Case(f"words: {name}", "html", _page(body), (shown,), ("AnnaKlein",)) for name, body, shown in _WORDS),
    *(Case(f"table: {name}", "html", _page(body), shown, once=once) for name, body, shown, once in _TABLES),
    *(
        Case(f"charset: {name}", "html", f"{head}<p>{text}</p>".encode(codec), (text,))
        for name, head, text, codec in _CHARSETS
    ),
    *(
        Case(f"nothing read: {name}", "html", data, (), ("SECRET",), (), ("nothing was read", why), why == "hidden")
        for name, data, why in _EMPTY
    ),
    Case("menus are counted", "html", _page("<nav>menu</nav><p>Text.</p>"), ("Text.",), ("menu",), notes=("menu",)),
)
