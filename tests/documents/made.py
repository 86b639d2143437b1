"""Files that are made to be read."""

from __future__ import annotations


def pdf_file(pages: list[str], *, title: str = "", outline: bool = False) -> bytes:
    """A small PDF: a line of text for each line of a page; with an outline, a heading for each page."""
    kids = " ".join(f"{10 + 2 * number} 0 R" for number in range(len(pages)))
    items = 10 + 2 * len(pages)
    objects = {
        1: f"<< /Type /Catalog /Pages 2 0 R {f'/Outlines {items} 0 R' if outline else ''} >>",
        2: f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        3: "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        4: f"<< /Title ({title}) >>",
    }
    for number, page in enumerate(pages):
        at = 10 + 2 * number
        objects[at] = (
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {at + 1} 0 R"
            " /Resources << /Font << /F1 3 0 R >> >> >>"
        )
        shown = " ".join(f"({line}) Tj 0 -14 Td" for line in page.split("\n")) if page else ""
        stream = f"BT /F1 11 Tf 40 740 Td {shown} ET"
        objects[at + 1] = f"<< /Length {len(stream)} >> stream\n{stream}\nendstream"
    if outline:
        last = items + len(pages)
        objects[items] = f"<< /First {items + 1} 0 R /Last {last} 0 R /Count {len(pages)} >>"
        for number in range(len(pages)):
            following = f"/Next {items + number + 2} 0 R" if number + 1 < len(pages) else ""
            objects[items + 1 + number] = (
                f"<< /Title (Chapter {number + 1}) /Parent {items} 0 R {following}"
                f" /Dest [{10 + 2 * number} 0 R /Fit] >>"
            )
    body, places = b"%PDF-1.4\n", {}
    for number, text in objects.items():
        places[number] = len(body)
        body += f"{number} 0 obj {text} endobj\n".encode("latin-1")
    table = "".join(
        f"{places[number]:010} 00000 n \n" if number in places else "0000000000 65535 f \n"
        for number in range(max(places) + 1)
    )
    trailer = f"trailer << /Size {max(places) + 1} /Root 1 0 R /Info 4 0 R >>\nstartxref\n{len(body)}\n%%EOF"
    return body + f"xref\n0 {max(places) + 1}\n{table}{trailer}".encode()
