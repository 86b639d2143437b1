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
    Case("pdf: white on navy", "pdf", _hidden("Seen", f"{_NAVY} 1 g"), ("One words", "Seen")),
    Case("pdf: filled form", "pdf", _form(), ("Name here", "Ada Klein")),
    Case("pdf: grey", "pdf", _hidden("Seen", "0.6 g"), ("One words", "Seen")),
    Case(
        "pdf: recognised scan", "pdf", _with_stream("BT /F1 11 Tf 3 Tr 40 700 Td (Seen words) Tj ET"), ("Seen words",)
    ),
    Case("pdf: nothing read", "pdf", pdf_file(["", ""]), notes=("nothing was read", "scanned")),
    Case("pdf: one page scanned", "pdf", pdf_file(["Text.", ""]), ("Text.",), notes=("1 of its 2 pages",)),
)
