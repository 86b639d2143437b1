"""events export and anchor, and certificates: what a stranger can check."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from keeps.base.clock import new_id, utc_now
from keeps.base.settings import load_settings
from keeps.doors.cli.command import Answer, command, group
from keeps.doors.cli.context import Target, err, out
from keeps.doors.cli.importing import check_absent, private_file
from keeps.doors.cli.log import Certificates, events
from keeps_client.errors import ValidationFailedError

if TYPE_CHECKING:
    from keeps_client import Memory
    from keeps_client.models import Anchor

PAGE = 200
app = typer.Typer()
certificates = group()
app.add_typer(events, name="events")  # `export` and `anchor` below are two more commands of theirs
app.add_typer(certificates, name="certificates")


@command(events)
async def export(
    memory: Memory,
    file: Annotated[Path | None, typer.Argument(help="File to write. Default, or with -: standard output.")] = None,
    contents: Annotated[bool, typer.Option("--contents", help="With the contents of the events of all users.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", "--force", help="Replace an existing file.")] = False,
) -> None:
    """Export the chain of the tenant's log as JSON lines, which a script without Keeps can verify.

    Without --contents it holds hashes, types and times only.
    """
    file = None if file == Path("-") else file
    check_absent(file, overwrite=overwrite)
    count = after = 0
    with private_file(file) if file else nullcontext(sys.stdout) as stream:
        while page := await memory.admin.list_event_links(after=after, limit=PAGE, contents=contents):
            stream.writelines(link.model_dump_json() + "\n" for link in page)
            count, after = count + len(page), page[-1].sequence
    err.print(f"[dim]{count:,} events[/]")


@command(events)
async def anchor(
    memory: Memory,
    file: Annotated[Path | None, typer.Option(help="Append the anchor to this file.")] = None,
    webhook: Annotated[str | None, typer.Option(help="Send the anchor to this URL, signed.")] = None,
    webhook_secret_file: Annotated[
        Path | None, typer.Option(help="File of the secret that signs for --webhook. It is made if it is missing.")
    ] = None,
    tsa: Annotated[str | None, typer.Option(help="URL of an RFC 3161 time stamp authority (extra `anchor`).")] = None,
    tsa_certificates: Certificates = None,
) -> Answer:
    """Write the head of the tenant's chain outside of the database, to find later that the log was rolled back.

    Without an option it is printed only.
    """
    if (tsa is None) != (tsa_certificates is None):
        raise ValidationFailedError("--tsa and --tsa-certificates belong together: the time stamp is verified")
    if (webhook is None) != (webhook_secret_file is None):
        raise ValidationFailedError("--webhook and --webhook-secret-file belong together: anchors are signed")
    secret = None if webhook_secret_file is None else _secret(webhook_secret_file)
    allow_private = load_settings().webhooks_allow_private
    head = await memory.admin.get_chain_head()
    if tsa is not None and tsa_certificates is not None:
        from keeps.store.anchors.stamps import stamp

        head = await stamp(head, tsa, tsa_certificates, allow_private=allow_private)
    if webhook is not None and secret is not None:
        from keeps.store.anchors.posting import post
        from keeps.store.webhooks.delivery import signed_headers

        body = head.model_dump_json(exclude_none=True).encode()
        signature = signed_headers(secret, str(new_id()), int(utc_now().timestamp()), body)
        await post(webhook, body, "application/json", allow_private=allow_private, signature=signature)
    if file is not None:
        from keeps.store.anchors.files import append

        append(file, head)
    return Answer(head, _anchor_line(head))


@command(certificates)
def verify(
    file: Annotated[Path, typer.Argument(help="The certificate.")],
    key: Annotated[
        str | None, typer.Option(help="Public key that must have signed it, as `keeps certificates key` prints it.")
    ] = None,
) -> Answer:
    """Verify the signature of a certificate, and print what it says."""
    from pydantic import ValidationError

    from keeps.memory.transfer.certificates import verify as verified
    from keeps_client.models import Certificate

    try:
        certificate = Certificate.model_validate_json(file.read_bytes())
    except (OSError, ValidationError):
        raise ValidationFailedError(f"{file} is not a certificate") from None
    statement = verified(certificate, key)
    note = "" if key else f"signed with {certificate.key}; compare it with the key that you know"
    return Answer(statement, certificate.statement, note)


@command(certificates)
async def key(target: Target) -> Answer:
    """Print the public key that signs the certificates of this installation."""
    async with target.memory() as memory:
        found = await memory.admin.get_certificate_key()
    return Answer(found, found.key)


@command(certificates)
def new() -> None:
    """Create a private key for KEEPS_SIGNING_KEY."""
    from keeps.memory.transfer.certificates import new_key

    out.print(new_key(), highlight=False)


def _secret(path: Path) -> str:
    """Return the secret in a file, or a new one that is written there, for its owner alone."""
    from keeps.store.webhooks.delivery import is_secret, new_secret

    if not path.exists():
        secret = new_secret()
        with private_file(path) as stream:
            stream.write(f"{secret}\n")
        err.print(f"[dim]the secret that signs anchors is in {path}; give it to the receiver[/]")
        return secret
    try:
        secret = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ValidationFailedError(f"{path} cannot be read ({error})") from None
    if not is_secret(secret):
        raise ValidationFailedError(f"{path} holds no secret of a webhook: whsec_ and base64 of 24 bytes or more")
    return secret


def _anchor_line(head: Anchor) -> str:
    stamped = ", stamped" if head.timestamp_response else ""
    return f"event {head.sequence:,} of {head.tenant_id} has the hash {head.hash}{stamped}"
