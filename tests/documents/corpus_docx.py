"""Word files, written as XML: what python-docx cannot make stands in them."""

from __future__ import annotations

import io
import zipfile

from tests.documents.corpus import Case

_SPACES = " ".join(
    f'xmlns:{prefix}="{address}"'
    for prefix, address in {
        "w": "http://schemas.openxmlformats.org/wordprocessingml/2006/main",
        "w14": "http://schemas.microsoft.com/office/word/2010/wordml",
        "r": "http://schemas.openxmlformats.org/officeDocument/2006/relationships",
        "mc": "http://schemas.openxmlformats.org/markup-compatibility/2006",
        "wps": "http://schemas.microsoft.com/office/word/2010/wordprocessingShape",
        "wp": "http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing",
        "a": "http://schemas.openxmlformats.org/drawingml/2006/main",
        "v": "urn:schemas-microsoft-com:vml",
        "m": "http://schemas.openxmlformats.org/officeDocument/2006/math",
    }.items()
)
_TYPES = "application/vnd.openxmlformats-officedocument.wordprocessingml"
_RELATIONSHIPS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PARTS = {
    "numbering": "numbering",
    "header": "hdr",
    "footer": "ftr",
    "footnotes": "footnotes",
    "endnotes": "endnotes",
    "comments": "comments",
}
_STYLES = (
    '<w:style w:type="table" w:styleId="Grid"><w:name w:val="Table Grid"/></w:style>'
    '<w:style w:type="table" w:styleId="Blue"><w:name w:val="Blue"/><w:tblStylePr w:type="firstRow"><w:tcPr>'
    '<w:shd w:val="clear" w:fill="003366"/></w:tcPr></w:tblStylePr></w:style>'
    '<w:style w:type="paragraph" w:styleId="H1"><w:name w:val="heading 1"/></w:style>'
    '<w:style w:type="character" w:styleId="Gone"><w:name w:val="Gone"/><w:rPr><w:vanish/></w:rPr></w:style>'
    '<w:style w:type="paragraph" w:styleId="GoneP"><w:name w:val="GoneP"/><w:rPr><w:vanish/></w:rPr></w:style>'
    '<w:style w:type="character" w:styleId="GoneToo"><w:name w:val="Too"/><w:basedOn w:val="Gone"/></w:style>'
)


def docx_file(body: str, styles: str = "", **parts: str) -> bytes:
    """A Word file with `body`, and further parts by name: header, footer, footnotes, endnotes, comments."""
    relations = f'<Relationship Id="s" Type="{_RELATIONSHIPS}/styles" Target="styles.xml"/>'
    types = f'<Override PartName="/word/styles.xml" ContentType="{_TYPES}.styles+xml"/>'
    files = {"word/styles.xml": f"<w:styles {_SPACES}>{styles}{_STYLES}</w:styles>"}
    for name, content in parts.items():
        files[f"word/{name}.xml"] = f"<w:{_PARTS[name]} {_SPACES}>{content}</w:{_PARTS[name]}>"
        relations += f'<Relationship Id="{name}" Type="{_RELATIONSHIPS}/{name}" Target="{name}.xml"/>'
        types += f'<Override PartName="/word/{name}.xml" ContentType="{_TYPES}.{name}+xml"/>'
    references = "".join(
        f'<w:{name}Reference w:type="default" r:id="{name}"/>' for name in ("header", "footer") if name in parts
    )
    files["word/document.xml"] = (
        f"<w:document {_SPACES}><w:body>{body}<w:sectPr>{references}</w:sectPr></w:body></w:document>"
    )
    package = "http://schemas.openxmlformats.org/package/2006"
    files["word/_rels/document.xml.rels"] = (
        f'<Relationships xmlns="{package}/relationships">{relations}</Relationships>'
    )
    files["_rels/.rels"] = (
        f'<Relationships xmlns="{package}/relationships"><Relationship Id="d"'
        f' Type="{_RELATIONSHIPS}/officeDocument" Target="word/document.xml"/></Relationships>'
    )
    files["[Content_Types].xml"] = (
        f'<Types xmlns="{package}/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        '<Default Extension="xml" ContentType="application/xml"/>'
        f'<Override PartName="/word/document.xml" ContentType="{_TYPES}.document.main+xml"/>{types}</Types>'
    )
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, f'<?xml version="1.0" encoding="UTF-8" standalone="yes"?>{content}')
    return file.getvalue()


def _run(text: str, properties: str = "") -> str:
    return f'<w:r><w:rPr>{properties}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'


def _p(*runs: str, style: str = "", properties: str = "") -> str:
    named = f'<w:pStyle w:val="{style}"/>' if style else ""
    return f"<w:p><w:pPr>{named}{properties}</w:pPr>{''.join(runs)}</w:p>"


def _tc(content: str, properties: str = "") -> str:
    return f"<w:tc><w:tcPr>{properties}</w:tcPr>{content}</w:tc>"


def _table(*rows: list[str]) -> str:
    return f"<w:tbl>{''.join('<w:tr>' + ''.join(cells) + '</w:tr>' for cells in rows)}</w:tbl>"


def _cells(*texts: str) -> list[str]:
    return [_tc(_p(_run(text))) for text in texts]


def _field(code: str, result: str) -> str:
    char = '<w:r><w:fldChar w:fldCharType="{}"/></w:r>'.format
    return f"{char('begin')}<w:r><w:instrText>{code}</w:instrText></w:r>{char('separate')}{_run(result)}{char('end')}"


_WHITE = '<w:color w:val="FFFFFF"/>'
_BOX = f"<w:txbxContent>{_p(_run('Box words'))}</w:txbxContent>"
_DRAWN = f"<w:drawing><wp:inline><a:graphic><a:graphicData><wps:wsp><wps:txbx>{_BOX}</wps:txbx></wps:wsp></a:graphicData></a:graphic></wp:inline></w:drawing>"
_VML = f"<w:pict><v:shape><v:textbox>{_BOX}</v:textbox></v:shape></w:pict>"
_CHOICE = (
    f"<mc:AlternateContent><mc:Choice Requires='wps'>{_DRAWN}</mc:Choice>"
    f"<mc:Fallback>{_VML}</mc:Fallback></mc:AlternateContent>"
)
_NOTE = '<w:{0} w:id="2"><w:p><w:r><w:t>Note words</w:t></w:r></w:p></w:{0}>'
_MARK = '<w:r><w:footnoteReference w:id="2"/></w:r>'

_UNCLOSED = '<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText>PAGE</w:instrText></w:r>'

_SHOWN: tuple[tuple[str, str, tuple[str, ...], tuple[str, ...]], ...] = (
    (
        "block content control",
        f"<w:sdt><w:sdtContent>{_p(_run('Control words'))}</w:sdtContent></w:sdt>",
        ("Control words",),
        (),
    ),
    (
        "content control in line",
        _p(_run("Before "), f"<w:sdt><w:sdtContent>{_run('inside')}</w:sdtContent></w:sdt>", _run(" after")),
        ("Before inside after",),
        (),
    ),
    (
        "nested content controls",
        f"<w:sdt><w:sdtContent><w:sdt><w:sdtContent>{_p(_run('Control words'))}</w:sdtContent></w:sdt></w:sdtContent></w:sdt>",
        ("Control words",),
        ("Control words",),
    ),
    (
        "content control around a table",
        f"<w:sdt><w:sdtContent>{_table(_cells('City', 'Days'), _cells('Leeds', '5'))}</w:sdtContent></w:sdt>",
        ("City: Leeds | Days: 5",),
        (),
    ),
    (
        "content control around a row",
        f"<w:tbl><w:tr>{''.join(_cells('City', 'Days'))}</w:tr><w:sdt><w:sdtContent><w:tr>{''.join(_cells('Leeds', '5'))}</w:tr></w:sdtContent></w:sdt></w:tbl>",
        ("City: Leeds | Days: 5",),
        (),
    ),
    (
        "content control around a cell",
        f"<w:tbl><w:tr>{''.join(_cells('City', 'Days'))}</w:tr><w:tr><w:sdt><w:sdtContent>{_cells('Leeds')[0]}</w:sdtContent></w:sdt>{_cells('5')[0]}</w:tr></w:tbl>",
        ("City: Leeds | Days: 5",),
        (),
    ),
    ("insertion", _p(_run("Thirty"), f"<w:ins>{_run('-one')}</w:ins>", _run(" days")), ("Thirty-one days",), ()),
    (
        "inserted row",
        f"<w:tbl><w:tr><w:trPr><w:ins/></w:trPr>{''.join(_cells('Leeds', '5'))}</w:tr></w:tbl>",
        ("Leeds | 5",),
        (),
    ),
    ("move target", _p(f"<w:moveTo>{_run('Moved words')}</w:moveTo>"), ("Moved words",), ()),
    ("block insertion", f"<w:ins>{_p(_run('Inserted words'))}</w:ins>", ("Inserted words",), ()),
    ("custom XML", f"<w:customXml>{_p(_run('Marked words'))}</w:customXml>", ("Marked words",), ()),
    ("smart tag", _p(_run("In "), f"<w:smartTag>{_run('Leeds')}</w:smartTag>"), ("In Leeds",), ()),
    ("simple field", _p(_run("Page "), f'<w:fldSimple w:instr="PAGE">{_run("7")}</w:fldSimple>'), ("Page 7",), ()),
    ("field", _p(_run("By "), _field("AUTHOR", "Ada")), ("By Ada",), ()),
    ("link", _p(_run("See "), f'<w:hyperlink r:id="x">{_run("here")}</w:hyperlink>', _run(".")), ("See here.",), ()),
    ("runs in a word", _p(_run("en"), _run("orm", "<w:b/>"), _run("ous")), ("enormous",), ()),
    ("soft hyphen", _p("<w:r><w:t>Wert</w:t><w:softHyphen/><w:t>papier</w:t></w:r>"), ("Wertpapier",), ()),
    ("fixed hyphen", _p("<w:r><w:t>A</w:t><w:noBreakHyphen/><w:t>1</w:t></w:r>"), ("A-1",), ()),
    (
        "tab and line",
        _p("<w:r><w:t>Anna</w:t><w:tab/><w:t>Klein</w:t><w:br/><w:t>Leeds</w:t></w:r>"),
        ("Anna Klein Leeds",),
        (),
    ),
    ("formula", _p("<m:oMath><m:r><m:t>E=mc</m:t></m:r></m:oMath>"), ("E=mc",), ()),
    ("drawn text box", _p(_run("Text"), f"<w:r>{_DRAWN}</w:r>"), ("Text", "Box words"), ("Box words",)),
    ("VML text box", _p(_run("Text"), f"<w:r>{_VML}</w:r>"), ("Text", "Box words"), ("Box words",)),
    ("text box in both forms", _p(_run("Text"), f"<w:r>{_CHOICE}</w:r>"), ("Text", "Box words"), ("Box words",)),
    (
        "text box in a cell",
        _table([_tc(_p(_run("Cell"), f"<w:r>{_CHOICE}</w:r>")), *_cells("5")]),
        ("Cell", "Box words"),
        ("Box words",),
    ),
    (
        "table in a cell",
        _table(
            _cells("City", "Days"), [_tc(_p(_run("Leeds")) + _table(_cells("Inner words", "7")) + _p()), *_cells("5")]
        ),
        ("City: Leeds | Days: 5", "Inner words | 7"),
        ("Inner words", "Leeds"),
    ),
    (
        "merged cells",
        _table(
            _cells("A", "B", "C"),
            [_tc(_p(_run("Long")), '<w:vMerge w:val="restart"/>'), _tc(_p(_run("Wide")), '<w:gridSpan w:val="2"/>')],
            [_tc(_p(), "<w:vMerge/>"), *_cells("x", "y")],
        ),
        ("A: Long", "Wide", "B: x | C: y"),
        ("Long", "Wide"),
    ),
    (
        "paragraphs in a cell",
        _table([_tc(_p(_run("Anna")) + _p(_run("Klein"))), *_cells("5")]),
        ("Anna Klein | 5",),
        (),
    ),
    ("insertion in a cell", _table([_tc(_p(f"<w:ins>{_run('Inserted words')}</w:ins>"))]), ("Inserted words",), ()),
    (
        "insertion in a heading",
        _p(f"<w:ins>{_run('Inserted words')}</w:ins>", style="H1") + _p(_run("x")),
        ("Inserted words",),
        (),
    ),
    ("hidden undone", _p(_run("Seen", '<w:vanish w:val="0"/>')), ("Seen",), ()),
    (
        "white on blue",
        _p(_run("Seen", '<w:color w:val="FFFFFF"/><w:shd w:val="clear" w:fill="003366"/>')),
        ("Seen",),
        (),
    ),
    (
        "white on a blue cell",
        _table([_tc(_p(_run("Seen", '<w:color w:val="FFFFFF"/>')), '<w:shd w:val="clear" w:fill="003366"/>')]),
        ("Seen",),
        (),
    ),
    (
        "white in a blue table",
        f'<w:tbl><w:tblPr><w:tblStyle w:val="Blue"/></w:tblPr><w:tr>{_tc(_p(_run("Seen", _WHITE)))}</w:tr></w:tbl>',
        ("Seen",),
        (),
    ),
    ("field without an end", _p(_run("One "), _UNCLOSED, _run("two")) + _p(_run("Three")), ("One two", "Three"), ()),
    (
        "field without an end in a cell",
        _table([_tc(_p(_UNCLOSED)), *_cells("5")], _cells("Leeds", "6")),
        ("5", "Leeds", "6"),
        (),
    ),
    ("comment in a text", _p("<w:r><w:t>Wert<!-- no -->pap<?no no?>ier</w:t></w:r>"), ("Wertpapier",), ()),
    (
        "alternatives in a cell",
        _table(
            [
                _tc(
                    f'<mc:AlternateContent><mc:Choice Requires="w14">{_p(_run("Seen"))}</mc:Choice></mc:AlternateContent>'
                ),
                *_cells("5"),
            ]
        ),
        ("Seen | 5",),
        (),
    ),
    (
        "alternatives in a run",
        _p(
            '<w:r><mc:AlternateContent><mc:Choice Requires="w14"><w:t>Seen</w:t></mc:Choice></mc:AlternateContent></w:r>'
        ),
        ("Seen",),
        (),
    ),
    (
        "hidden by two styles",
        _p(_run("Seen", '<w:rStyle w:val="Gone"/>'), style="GoneP"),
        ("Seen",),
        (),
    ),
    ("heading alone", _p(_run("Closed on Mondays"), style="H1"), ("Closed on Mondays",), ()),
)
_HIDDEN = (
    ("run", _run("SECRET", "<w:vanish/>")),
    ("style", _run("SECRET", '<w:rStyle w:val="Gone"/>')),
    ("style of a style", _run("SECRET", '<w:rStyle w:val="GoneToo"/>')),
    ("white", _run("SECRET", '<w:color w:val="FFFFFF"/>')),
    ("navy on navy", _run("SECRET", '<w:color w:val="003366"/><w:shd w:val="clear" w:fill="003366"/>')),
    ("tiny", _run("SECRET", '<w:sz w:val="1"/>')),
    ("insertion", f"<w:ins>{_run('SECRET', '<w:vanish/>')}</w:ins>"),
    ("link", f"<w:hyperlink>{_run('SECRET', '<w:vanish/>')}</w:hyperlink>"),
)
_UNKNOWN = f'<mc:Choice xmlns:q="urn:nobody" Requires="q">{_p(_run("SECRET"))}</mc:Choice>'
_LOOKS = (
    '<w:color w:val="FEFEFE"/>',
    '<w:color w:val="auto" w:themeColor="background1"/>',
    '<w:color w:val="000000" w:themeColor="background1"/>',
    '<w:color w:val="000000" w:themeColor="text1" w:themeTint="00"/>',
    '<w:color w:val="#FFFFFF"/>',
    '<w:color w:val="white"/>',
    '<w:sz w:val="3"/>',
    '<w:sz w:val="1pt"/>',
    '<w:sz w:val="1.0"/>',
    '<w:w w:val="1"/>',
    "<w14:textFill><w14:noFill/></w14:textFill>",
    '<w14:textFill><w14:solidFill><w14:srgbClr w14:val="FFFFFF"/></w14:solidFill></w14:textFill>',
    '<w14:textFill><w14:solidFill><w14:schemeClr w14:val="bg1"/></w14:solidFill></w14:textFill>',
    '<w:highlight w:val="black"/><w:color w:val="000000"/>',
    '<w:highlight w:val="darkBlue"/><w:color w:val="000080"/>',
    '<w:shd w:val="solid" w:color="FFFFFF"/><w:color w:val="FFFFFF"/>',
    '<w:shd w:val="pct5" w:color="FFFFFF" w:fill="FFFFFF"/><w:color w:val="FFFFFF"/>',
    '<w:shd w:val="clear" w:fill="auto" w:themeFill="text1"/><w:color w:val="000000"/>',
)
_VISIBLE_LOOKS = (
    '<w:color w:val="FFFFFF" w:themeColor="text1"/>',
    '<w:color w:val="FFFFFF"/><w:highlight w:val="darkBlue"/>',
    '<w:color w:val="FFFFFF"/><w:shd w:val="clear" w:fill="FFFFFF" w:themeFill="text1"/>',
    '<w:color w:val="FFFFFF"/><w:shd w:val="solid" w:color="000000" w:fill="FFFFFF"/>',
    '<w:shd w:val="solid" w:color="FFFFFF"/><w:color w:val="000000"/>',
    '<w:sz w:val="4"/>',
    '<w:sz w:val="2pt"/>',
    '<w:w w:val="50"/>',
    '<w:color w:val="FFFFFF"/><w14:textFill><w14:solidFill><w14:srgbClr w14:val="000000"/></w14:solidFill></w14:textFill>',
    "<w:webHidden/>",
)
_DOUBTFUL = (
    ("letters over each other", _p(_run("Seen", '<w:spacing w:val="-999"/>'))),
    ("letters off their line", _p(_run("Seen", '<w:position w:val="-9999"/>'))),
    ("unknown colour", _p(_run("Seen", '<w:color w:val="murky"/>'))),
    ("indent", _p(_run("Seen"), properties='<w:ind w:left="-31680"/>')),
    ("frame", _p(_run("Seen"), properties='<w:framePr w:x="-31000" w:y="-31000"/>')),
)
_RULE = '<w:style w:type="{}" w:default="1" w:styleId="Base"><w:name w:val="Base"/><w:rPr>{}</w:rPr></w:style>'.format
_DEFAULTS = "<w:docDefaults><w:rPrDefault><w:rPr>{}</w:rPr></w:rPrDefault></w:docDefaults>".format
_SHOWN_AGAIN = '<w:vanish w:val="0"/><w:color w:val="000000"/>'
_HIDING_STYLES = (
    ("defaults that vanish", _DEFAULTS("<w:vanish/>"), "p"),
    ("white defaults", _DEFAULTS(_WHITE), "p"),
    ("default paragraph style", _RULE("paragraph", "<w:vanish/>"), "p"),
    ("white default paragraph style", _RULE("paragraph", _WHITE), "p"),
    ("default character style", _RULE("character", "<w:vanish/>"), "p"),
    ("table style", _RULE("table", "<w:vanish/>"), "table"),
    ("white table style", _RULE("table", _WHITE), "table"),
    (
        "flat lines of a style",
        _RULE("paragraph", _SHOWN_AGAIN).replace(
            "<w:rPr>", '<w:pPr><w:spacing w:line="1" w:lineRule="exact"/></w:pPr><w:rPr>'
        ),
        "flat",
    ),
)


def _styled(styles: str, where: str) -> bytes:
    seen, hidden = _run("One", _SHOWN_AGAIN), _run("SECRET")
    if where == "table":
        return docx_file(_table([_tc(_p(seen)), _tc(_p(hidden))]), styles)
    tall = '<w:spacing w:line="240" w:lineRule="auto"/>' if where == "flat" else ""
    return docx_file(_p(seen, properties=tall) + _p(hidden), styles)


_SECRET = _p(_run("SECRET"))
_SECRET_BOX = _BOX.replace("Box words", "SECRET")
_HIDDEN_BLOCKS = (
    (
        "hidden VML box",
        f'<w:r><w:pict><v:shape style="visibility: hidden"><v:textbox>{_SECRET_BOX}</v:textbox></v:shape></w:pict></w:r>',
    ),
    (
        "hidden drawn box",
        "<w:r>"
        + _DRAWN.replace("Box words", "SECRET").replace("<wp:inline>", '<wp:inline><wp:docPr hidden="1"/>')
        + "</w:r>",
    ),
    ("box in a vanished run", f"<w:r><w:rPr><w:vanish/></w:rPr>{_VML.replace('Box words', 'SECRET')}</w:r>"),
    ("vanished formula", "<m:oMath><m:r><w:rPr><w:vanish/></w:rPr><m:t>SECRET</m:t></m:r></m:oMath>"),
    (
        "code of a field",
        '<w:r><w:fldChar w:fldCharType="begin"/></w:r>'
        + _run("SECRET")
        + '<w:r><w:fldChar w:fldCharType="end"/></w:r>',
    ),
    (
        "form of an unknown kind",
        f'<mc:AlternateContent><mc:Choice xmlns:q="urn:nobody" Requires="q">{_run("SECRET")}</mc:Choice></mc:AlternateContent>',
    ),
)
_WHITE_IN_TABLE = (
    '<w:tbl><w:tblPr><w:tblStyle w:val="Grid"/></w:tblPr>'
    f"<w:tr>{_tc(_p(_run('One')))}{_tc(_p(_run('SECRET', _WHITE)))}</w:tr></w:tbl>"
)
_LISTS = (
    '<w:abstractNum w:abstractNumId="7">'
    '<w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="decimal"/><w:lvlText w:val="%1."/></w:lvl>'
    '<w:lvl w:ilvl="1"><w:start w:val="1"/><w:numFmt w:val="lowerLetter"/><w:lvlText w:val="%1.%2)"/></w:lvl>'
    '</w:abstractNum><w:num w:numId="3"><w:abstractNumId w:val="7"/></w:num>'
)
_ITEM = '<w:numPr><w:ilvl w:val="{}"/><w:numId w:val="{}"/></w:numPr>'.format
_ITEMS = (("One", 0), ("In", 1), ("Too", 1), ("Two", 0))
_NUMBERED = (
    "".join(_p(_run(text), properties=_ITEM(level, 3)) for text, level in _ITEMS)
    + _p(_run("Heading"), style="H1", properties=_ITEM(0, 3))
    + _p(_run("None"), properties=_ITEM(0, 0))
)
_DELETED = (
    ("deletion", "<w:del><w:r><w:delText>SECRET</w:delText></w:r></w:del>"),
    ("deletion with text", f"<w:del>{_run('SECRET')}</w:del>"),
    ("move source", f"<w:moveFrom>{_run('SECRET')}</w:moveFrom>"),
)

CASES: tuple[Case, ...] = (
    *(
        Case(f"docx: {name}", "docx", docx_file(body), shown, ("AUTHOR", "PAGE"), once)
        for name, body, shown, once in _SHOWN
    ),
    *(
        Case(
            f"docx hidden: {name}",
            "docx",
            docx_file(_p(_run("One "), run)),
            ("One",),
            ("SECRET",),
            (),
            ("hidden",),
            True,
        )
        for name, run in _HIDDEN
    ),
    *(
        Case(
            f"docx hidden in a cell: {name}",
            "docx",
            docx_file(_table([_tc(_p(_run("One "), run)), *_cells("5")])),
            ("One | 5",),
            ("SECRET",),
            (),
            ("hidden",),
            True,
        )
        for name, run in _HIDDEN
    ),
    Case(
        "docx hidden: paragraph style",
        "docx",
        docx_file(_p(_run("SECRET"), style="GoneP") + _p(_run("One"))),
        ("One",),
        ("SECRET",),
        (),
        ("hidden",),
        True,
    ),
    *(
        Case(f"docx: {name}", "docx", docx_file(_p(_run("One "), run)), ("One",), ("SECRET",), (), ("deleted",))
        for name, run in _DELETED
    ),
    Case(
        "docx hidden: white in a table",
        "docx",
        docx_file(_WHITE_IN_TABLE),
        ("One",),
        ("SECRET",),
        (),
        ("hidden",),
        True,
    ),
    Case(
        "docx: numbered list",
        "docx",
        docx_file(_NUMBERED, numbering=_LISTS),
        ("1. One", "1.a) In", "1.b) Too", "2. Two", "3. Heading", "None"),
        ("- None",),
    ),
    Case(
        "docx: deleted row",
        "docx",
        docx_file(
            f"<w:tbl><w:tr>{''.join(_cells('One'))}</w:tr><w:tr><w:trPr><w:del/></w:trPr>{''.join(_cells('SECRET'))}</w:tr></w:tbl>"
        ),
        ("One",),
        ("SECRET",),
        (),
        ("deleted",),
    ),
    Case(
        "docx: header and footer",
        "docx",
        docx_file(_p(_run("Text")), header=_p(_run("Head words")), footer=_p(_run("Foot words"))),
        ("Head words", "Text", "Foot words"),
        once=("Head words", "Foot words"),
    ),
    Case(
        "docx: table in a header",
        "docx",
        docx_file(_p(_run("Text")), header=_table(_cells("Head words", "5"))),
        ("Head words | 5",),
    ),
    Case(
        "docx: footnote",
        "docx",
        docx_file(_p(_run("Text"), _MARK), footnotes=_NOTE.format("footnote")),
        ("Text", "Note words"),
    ),
    Case(
        "docx: endnote", "docx", docx_file(_p(_run("Text")), endnotes=_NOTE.format("endnote")), ("Text", "Note words")
    ),
    Case(
        "docx: deletion in a footnote",
        "docx",
        docx_file(
            _p(_run("Text")), footnotes=f'<w:footnote w:id="2">{_p(_run("Note words"), _DELETED[1][1])}</w:footnote>'
        ),
        ("Note words",),
        ("SECRET",),
        (),
        ("deleted",),
    ),
    Case(
        "docx: comment",
        "docx",
        docx_file(_p(_run("Text")), comments=_NOTE.format("comment")),
        ("Text",),
        notes=("comments (1)",),
    ),
    *(
        Case(
            f"docx looks hidden: {look}",
            "docx",
            docx_file(_p(_run("One "), _run("SECRET", look))),
            ("One",),
            ("SECRET",),
            (),
            ("hidden",),
            True,
        )
        for look in _LOOKS
    ),
    *(Case(f"docx looks: {look}", "docx", docx_file(_p(_run("Seen", look))), ("Seen",)) for look in _VISIBLE_LOOKS),
    *(
        Case(f"docx in doubt: {name}", "docx", docx_file(body), ("Seen",), notes=("some text may be hidden",))
        for name, body in _DOUBTFUL
    ),
    *(
        Case(f"docx hidden: {name}", "docx", _styled(styles, where), ("One",), ("SECRET",), (), ("hidden",), True)
        for name, styles, where in _HIDING_STYLES
    ),
    *(
        Case(
            f"docx hidden: {name}",
            "docx",
            docx_file(_p(_run("One "), inline)),
            ("One",),
            ("SECRET",),
            (),
            ("hidden",),
            True,
        )
        for name, inline in _HIDDEN_BLOCKS
    ),
    Case(
        "docx hidden: form of an unknown kind with another",
        "docx",
        docx_file(f"<mc:AlternateContent>{_UNKNOWN}<mc:Fallback>{_p(_run('One'))}</mc:Fallback></mc:AlternateContent>"),
        ("One",),
        ("SECRET",),
        (),
        ("hidden",),
        True,
    ),
    Case(
        "docx hidden: low row",
        "docx",
        docx_file(
            f"<w:tbl><w:tr>{''.join(_cells('One', '5'))}</w:tr><w:tr><w:trPr><w:trHeight w:val='1' w:hRule='exact'/>"
            f"</w:trPr>{''.join(_cells('SECRET', '6'))}</w:tr></w:tbl>"
        ),
        ("One",),
        ("SECRET",),
        (),
        ("hidden",),
        True,
    ),
    Case(
        "docx hidden: cell under a merged one",
        "docx",
        docx_file(
            _table(
                _cells("City", "Days"),
                [_tc(_p(_run("One")), '<w:vMerge w:val="restart"/>'), *_cells("5")],
                [_tc(_SECRET, "<w:vMerge/>"), *_cells("6")],
            )
        ),
        ("One",),
        ("SECRET",),
        (),
        ("hidden",),
        True,
    ),
    Case(
        "docx: deleted cell",
        "docx",
        docx_file(_table([_tc(_SECRET, "<w:cellDel/>"), *_cells("One", "5")])),
        ("One | 5",),
        ("SECRET",),
        (),
        ("deleted",),
    ),
    Case(
        "docx: embedded document in a cell",
        "docx",
        docx_file(_table([_tc("<w:altChunk/>" + _p(_run("One"))), *_cells("5")])),
        ("One | 5",),
        notes=("embedded documents (1)",),
    ),
    Case("docx: nothing read", "docx", docx_file(_p()), notes=("nothing was read",)),
    Case(
        "docx: all hidden",
        "docx",
        docx_file(_p(_run("SECRET", "<w:vanish/>"))),
        (),
        ("SECRET",),
        (),
        ("nothing was read", "hidden"),
        True,
    ),
)
