"""A citation names the page on which the sentence that answers begins."""

from __future__ import annotations

import json
from typing import Any

import pytest

from keeps.base.scope import Scope
from keeps.engine import Keeps
from keeps.memory.indexing.service import Indexer
from keeps.memory.transfer.erasure import TenantService
from keeps.memory.transfer.service import TransferService
from keeps.sources.documents.service import DocumentService
from keeps.store.events.service import EventService
from keeps_client.models.documents import DocumentSearch
from tests.documents.made import pdf_file

TWO_PAGES = [
    "The office in Lisbon opens at eight in the morning.\nVisitors sign the red book at the desk.",
    "Dogs are welcome on Fridays only.\nThe canteen serves soup until two in the afternoon.",
]
THREE_PAGES = [
    "Employees book flights through the travel portal.",
    "Hotel rooms cost at most 140 euros a night.\nBreakfast is paid by the company.",
    "Receipts go to Marta in accounting within thirty days.",
]
RUNNING_ON = [
    "The boat leaves from pier seven every evening.\nThe spare key of the boat house hangs",
    "behind the blue cupboard in the kitchen.\nLife jackets are stored under the rear bench.",
]
BLANK_PAGE = [
    "The vaccine is stored at four degrees.",
    "",
    "Doctor Okafor is on call at the weekend.",
]
LONG_PAGE = [
    "The harvest report covers the farms of the northern valley and the years since the new dam was built.\n"
    "Barley was sown in March on nine hundred hectares, and most of it was sold to breweries in the south.\n"
    "Rain fell late, so the wheat was cut in August, and the mill at Thornbury ground all of it by October.\n"
    "Apples from the old orchards were pressed into cider, and the barrels were kept in the cellar of the abbey\n"
    "until the buyers came, who in that year paid",
    "eleven crowns for each barrel.\n"
    "Potatoes were lost to blight in the wet fields near the river Ashby.\n"
    "The beekeepers counted two hundred and six hives before the winter.",
]
FOOTERS = [
    "The server room is cooled by two machines.\nThe alarm code is changed every month.\nInternal 1",
    "Backups are written to tape on Sunday night.\nTapes are kept in the vault of the bank.\nInternal 2",
    "The night porter is called Henrik.\nHe keeps the master key.\nInternal 3",
]
QUESTIONS = [
    (TWO_PAGES, "When does the Lisbon office open?", 1),
    (TWO_PAGES, "Where do visitors sign?", 1),
    (TWO_PAGES, "On which day are dogs welcome?", 2),
    (TWO_PAGES, "How long does the canteen serve soup?", 2),
    (THREE_PAGES, "How do employees book flights?", 1),
    (THREE_PAGES, "How much may a hotel room cost?", 2),
    (THREE_PAGES, "Who pays for breakfast?", 2),
    (THREE_PAGES, "Who gets the receipts?", 3),
    (RUNNING_ON, "From which pier does the boat leave?", 1),
    (RUNNING_ON, "Where does the spare key of the boat house hang?", 1),
    (RUNNING_ON, "What is behind the blue cupboard in the kitchen?", 1),
    (RUNNING_ON, "Where are life jackets stored?", 2),
    (BLANK_PAGE, "At how many degrees is the vaccine stored?", 1),
    (BLANK_PAGE, "Which doctor is on call at the weekend?", 3),
    (TWO_PAGES, "May I bring my puppy to work?", 2),
    (BLANK_PAGE, "Which physician works on Saturdays and Sundays?", 3),
    (LONG_PAGE, "How much barley was sown in March?", 1),
    (LONG_PAGE, "What did the buyers of the cider barrels pay?", 1),
    (LONG_PAGE, "Why were potatoes lost?", 2),
    (LONG_PAGE, "How many hives did the beekeepers count?", 2),
    (FOOTERS, "How often is the alarm code changed?", 1),
    (FOOTERS, "When are backups written to tape?", 2),
    (FOOTERS, "Where are the tapes kept?", 2),
    (FOOTERS, "What is the name of the night porter?", 3),
]
EXPECTED = [(question, page) for _, question, page in QUESTIONS]


def named(pages: list[str]) -> str:
    return next(name for name, value in globals().items() if value is pages).lower()


async def add_all(memory: Any) -> None:
    for pages in {id(pages): pages for pages, _, _ in QUESTIONS}.values():
        await memory.add_document(data=pdf_file(pages), name="file.pdf", title=named(pages), tags=[named(pages)])


async def cited_pages(memory: Any) -> list[tuple[str, int | None]]:
    return [
        (question, (await memory.search_documents(question, limit=1, tags=[named(pages)])).hits[0].citations[0].page)
        for pages, question, _ in QUESTIONS
    ]


@pytest.mark.meaning
async def test_citation_names_page_of_the_sentence(memory: Any, keeps: Keeps, tenant: str) -> None:
    await add_all(memory)
    await keeps.service(Indexer).settle(Scope(tenant, "alice"))
    assert await cited_pages(memory) == EXPECTED


async def test_citation_without_vectors_uses_shared_words(keeps: Keeps, tenant: str) -> None:
    """The index has not seen the passage yet."""
    memory = keeps.memory(Scope(tenant, "alice"))
    await memory.add_document(data=pdf_file(THREE_PAGES), name="file.pdf")
    found = await keeps.service(DocumentService).search(
        memory.scope, DocumentSearch(query="Who gets the receipts?", limit=1)
    )
    assert found.hits[0].citations[0].page == 3


async def test_page_breaks_are_replayed_and_exported(keeps: Keeps, tenant: str) -> None:
    alice = keeps.memory(Scope(tenant, "alice"))
    await alice.add_document(data=pdf_file(THREE_PAGES), name="file.pdf")
    await alice.add_document("No pages here.", source="note.md")
    replayed = await keeps.service(EventService).verify(alice.scope)
    assert replayed.equal, replayed.differences
    lines = [line async for line in keeps.service(TransferService).export(alice.scope)]
    await keeps.service(TenantService).erase_tenant(alice.scope)
    assert (await keeps.service(TransferService).import_lines(alice.scope, lines)).errors == []
    found = await alice.search_documents("Who gets the receipts?", limit=1)
    assert found.hits[0].citations[0].page == 3


async def test_older_document_cites_page_of_passage_start(keeps: Keeps, tenant: str) -> None:
    alice = keeps.memory(Scope(tenant, "alice"))
    await alice.add_document(data=pdf_file(THREE_PAGES), name="file.pdf")
    lines = [json.loads(line) async for line in keeps.service(TransferService).export(alice.scope)]
    for row in (line["row"] for line in lines):
        for passage in row.get("passages", ()):
            del passage["page_breaks"]
    await keeps.service(TenantService).erase_tenant(alice.scope)
    assert (await keeps.service(TransferService).import_lines(alice.scope, map(json.dumps, lines))).errors == []
    found = await alice.search_documents("Who gets the receipts?", limit=1)
    assert found.hits[0].citations[0].page == 1
