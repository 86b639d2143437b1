"""PDFs, written by hand: hyphens, hidden text, pages."""

from __future__ import annotations

from tests.documents.corpus import Case
from tests.documents.made import pdf_file

_NAVY = "q 0 0 0.4 rg 30 690 300 30 re f Q"


def _hidden(text: str, before: str = "", place: str = "40 700", size: str = "11") -> bytes:
    stream = f"BT /F1 11 Tf 0 g 40 740 Td (One words) Tj ET {before} BT /F1 {size} Tf {place} Td ({text}) Tj ET"
    return _with_stream(stream)


def _with_stream(stream: str) -> bytes:
    """A PDF of one page with this content stream; the table of places is found anew by readers."""
    whole = pdf_file([""])
    start = whole.index(b"11 0 obj")
    end = whole.index(b"endobj", start)
    body = f"11 0 obj << /Length {len(stream)} >> stream\n{stream}\nendstream ".encode()
    return whole[:start] + body + whole[end:]


def _with_parts(stream: str, resources: str = "", part: str = "", catalog: str = "") -> bytes:
    """A PDF with this content stream, an object 20 of its own, and what refers to it."""
    whole = _with_stream(stream)
    whole = whole.replace(b"/Font << /F1 3 0 R >>", f"/Font << /F1 3 0 R >> {resources}".encode())
    whole = whole.replace(b"/Type /Catalog", f"/Type /Catalog {catalog}".encode())
    place = whole.index(b"xref")
    return whole[:place] + f"20 0 obj {part} endobj\n".encode() + whole[place:]


def _in_form(stream: str, before: str = "", box: str = "0 0 612 792") -> bytes:
    """A PDF with a text, and another one in a form."""
    drawn = (
        f"<< /Type /XObject /Subtype /Form /BBox [{box}] /Resources << /Font << /F1 3 0 R >> >>"
        f" /Length {len(stream)} >> stream\n{stream}\nendstream"
    )
    return _with_parts(f"{_SEEN} q {before} /X Do Q", "/XObject << /X 20 0 R >>", drawn)


_SEEN = "BT /F1 11 Tf 0 g 40 740 Td (One words) Tj ET"
_SECRET = "BT /F1 11 Tf 40 700 Td (SECRET) Tj ET"
_BLOCK = "30 690 300 30 re f"
_SCAN = "q 612 0 0 400 0 0 cm BI /W 1 /H 1 /BPC 8 /CS /G ID a EI Q"
_UNSEEN = (
    ("under a white box", _with_stream(f"{_SEEN} {_SECRET} 1 g {_BLOCK}")),
    ("under a black box", _with_stream(f"{_SEEN} {_SECRET} 0 g {_BLOCK}")),
    ("black on black", _with_stream(f"{_SEEN} 0 g {_BLOCK} {_SECRET}")),
    ("red on red", _with_stream(f"{_SEEN} 1 0 0 rg {_BLOCK} {_SECRET}")),
    ("white on white on black", _with_stream(f"{_SEEN} 0 g {_BLOCK} 1 g 20 680 320 50 re f {_SECRET}")),
    ("nearly white", _with_stream(f"{_SEEN} .97 g {_SECRET}")),
    ("clipped", _with_stream(f"{_SEEN} q 0 0 1 1 re W n {_SECRET} Q")),
    ("mode 7", _with_stream(f"{_SEEN} q 7 Tr {_SECRET} Q")),
    ("white outline", _with_stream(f"{_SEEN} 1 G 1 Tr {_SECRET}")),
    ("narrow", _with_stream(f"{_SEEN} 0.1 Tz {_SECRET}")),
    ("small form", _in_form(_SECRET, ".01 0 0 .01 0 0 cm")),
    ("small letters in a form", _in_form(_SECRET.replace("F1 11", "F1 .5"))),
    ("form beside the page", _in_form(_SECRET, "1 0 0 1 -5000 0 cm")),
    ("outside of the box of a form", _in_form(_SECRET, box="0 0 1 1")),
    ("white in a form, something painted", _in_form(f"1 g {_SECRET}", "0 g 0 0 1 1 re f")),
    ("recognised beside the scan", _with_stream(f"{_SEEN} {_SCAN} 3 Tr {_SECRET}")),
    (
        "layer that is off",
        _with_parts(
            f"{_SEEN} /OC /O BDC {_SECRET} EMC",
            "/Properties << /O 20 0 R >>",
            "<< /Type /OCG /Name (x) >>",
            "/OCProperties << /OCGs [20 0 R] /D << /OFF [20 0 R] /Order [] >> >>",
        ),
    ),
)
_VISIBLE = (
    ("black outline of white letters", f"{_SEEN} 0 G 1 g 1 Tr {_SECRET}"),
    ("white on black", f"{_SEEN} 0 g {_BLOCK} 1 g {_SECRET}"),
    ("beside a box", f"{_SEEN} {_SECRET} 0 g 30 500 300 30 re f"),
    ("over a box", f"{_SEEN} 0.9 g {_BLOCK} 0 g {_SECRET}"),
    ("underlined", f"{_SEEN} {_SECRET} 40 698 60 1 re f"),
    ("single letters", f"{_SEEN} {_BLOCK.replace('690', '600')} BT /F1 11 Tf 40 700 Td (SECRET) Tj 0 -20 Td (.) Tj ET"),
    ("within a clip", f"{_SEEN} q 30 690 300 30 re W n {_SECRET} Q"),
    ("recognised in a scan", f"{_SEEN} {_SCAN} 3 Tr {_SECRET.replace('700', '300')}"),
)


def _form() -> bytes:
    """A PDF with a field of a form that somebody filled in."""
    drawn = "BT /F1 11 Tf 2 4 Td (Ada Klein) Tj ET"
    field = (
        "20 0 obj << /Type /Annot /Subtype /Widget /FT /Tx /T (name) /V (Ada Klein) /Rect [100 600 300 620] /F 4"
        " /AP << /N 21 0 R >> >> endobj\n21 0 obj << /Type /XObject /Subtype /Form /BBox [0 0 200 20]"
        f" /Resources << /Font << /F1 3 0 R >> >> /Length {len(drawn)} >> stream\n{drawn}\nendstream endobj\n"
    )
    whole = pdf_file(["Name here"]).replace(b"/MediaBox", b"/Annots [20 0 R] /MediaBox")
    place = whole.index(b"xref")
    return whole[:place] + field.encode() + whole[place:]


_HYPHENS = (
    ("word over a line", "The insur-\nance ends in May and is renewed by letter.", "The insurance ends"),
    ("compound with capitals", "From Nord-\nAmerika it came by ship over the sea again.", "Nord-Amerika"),
    ("years", "In the years 2019-\n2021 nobody came to the fair by the sea.", "2019-2021"),
    ("known compound", "A well-known word, and a well-\nknown other one of them again.", "well-known other"),
    ("suspended hyphen", "Die Vor-\nund Nachteile sind hier genannt und mehr.", "Vor- und Nachteile"),
    ("long compound", "It is a state-of-the-\nart device of our own making here.", "state-of-the-art device"),
    ("dash", "The door -\nit was red - stood open all the day.", "door - it was"),
)

CASES: tuple[Case, ...] = (
    *(Case(f"pdf hyphen: {name}", "pdf", pdf_file([text]), (shown,)) for name, text, shown in _HYPHENS),
    Case(
        "pdf hyphen: over a page",
        "pdf",
        pdf_file(["The contract of insur-", "ance ends in May."]),
        ("contract of insurance", "ends in May."),
    ),
    *(
        Case(f"pdf hidden: {name}", "pdf", data, ("One words",), ("SECRET",), (), ("hidden",), True)
        for name, data in (
            ("white", _hidden("SECRET", "1 g")),
            ("white in RGB", _hidden("SECRET", "1 1 1 rg")),
            ("white in CMYK", _hidden("SECRET", "0 0 0 0 k")),
            ("tiny", _hidden("SECRET", size="0.5")),
            ("beside the page", _hidden("SECRET", place="-500 700")),
            ("invisible on a page with text", _hidden("SECRET", "3 Tr")),
        )
    ),
    *(
        Case(f"pdf hidden: {name}", "pdf", data, ("One words",), ("SECRET",), (), ("hidden",), True)
        for name, data in _UNSEEN
    ),
    *(Case(f"pdf: {name}", "pdf", _with_stream(stream), ("One words", "SECRET")) for name, stream in _VISIBLE),
    Case(
        "pdf: text in place of another",
        "pdf",
        _with_stream(f"/Span << /ActualText (SECRET) >> BDC {_SEEN} EMC"),
        ("One words",),
        ("SECRET",),
    ),
    Case("pdf: white on navy", "pdf", _hidden("Seen", f"{_NAVY} 1 g"), ("One words", "Seen")),
    Case("pdf: filled form", "pdf", _form(), ("Name here", "Ada Klein")),
    Case("pdf: grey", "pdf", _hidden("Seen", "0.6 g"), ("One words", "Seen")),
    Case(
        "pdf: recognised scan", "pdf", _with_stream("BT /F1 11 Tf 3 Tr 40 700 Td (Seen words) Tj ET"), ("Seen words",)
    ),
    Case("pdf: nothing read", "pdf", pdf_file(["", ""]), notes=("nothing was read", "it is a scan")),
    Case("pdf: one page scanned", "pdf", pdf_file(["Text.", ""]), ("Text.",), notes=("1 of its 2 pages",)),
)
