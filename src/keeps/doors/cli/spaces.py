"""spaces: memory that several users or agents share."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.markup import escape

from keeps.base.clock import utc_now
from keeps.doors.cli.administration import Yes, confirm, erased
from keeps.doors.cli.command import Answer, command, group, print_table, table
from keeps.doors.cli.context import Target, err, out
from keeps.doors.cli.importing import check_absent, private_file
from keeps_client.errors import ValidationFailedError

if TYPE_CHECKING:
    from keeps_client import Memory
    from keeps_client.models import Space, SpaceDetail

PAGE = 1_000
app = typer.Typer()
spaces = group()
app.add_typer(spaces, name="spaces")
SpaceId = Annotated[str, typer.Argument(metavar="NAME", help="Id of the space: letters, digits and . _ -")]
MemberId = Annotated[str, typer.Argument(metavar="MEMBER", help="Id of the user or agent.")]
IsAgent = Annotated[bool, typer.Option("--agent-member", help="The member is an agent, not a user.")]
Role = Literal["reader", "writer", "curator"]


@command(spaces, "list")
async def list_spaces(
    memory: Memory,
    target: Target,
    of_tenant: Annotated[bool, typer.Option("--all", help="All spaces of the tenant, for administrators.")] = False,
) -> Answer:
    """List the spaces that you are a member of."""
    listed: list[Space] = []
    while True:
        after = listed[-1].space_id if listed else ""
        page = await (memory.admin if of_tenant else memory).list_spaces(after=after, limit=PAGE)
        listed += page
        if len(page) < PAGE:
            break
    whose = "The tenant has no spaces." if of_tenant else f"{escape(_who(target))} a member of no space."
    return table(
        listed,
        ["space", "title", "members", "role", "state"],
        lambda space: (space.space_id, space.title, space.members, space.role, _state(space)),
        empty=f"{whose} [dim]Make one: keeps spaces create NAME[/]",
    )


@command(spaces, may_make=True)
async def create(
    memory: Memory, space_id: SpaceId, title: Annotated[str | None, typer.Option(help="Title for people.")] = None
) -> Answer:
    """Create a space. You become its first curator."""
    space = await memory.create_space(space_id, title=title)
    note = f'store in it: keeps remember "…" --space {space_id}; add others: keeps spaces add-member {space_id} USER'
    return Answer(space, f"space [bold]{escape(space_id)}[/] is created", note)


@command(spaces)
async def show(memory: Memory, space_id: SpaceId) -> Answer:
    """Show a space and its members."""
    return _detail(await memory.get_space(space_id))


@command(spaces)
async def rename(memory: Memory, space_id: SpaceId, title: Annotated[str, typer.Argument(help="The title.")]) -> Answer:
    """Change the title of a space; the id stays. For curators."""
    return Answer(
        await memory.update_space(space_id, title=title), f"the title of {escape(space_id)} is “{escape(title)}”"
    )


@command(spaces)
async def archive(memory: Memory, space_id: SpaceId) -> Answer:
    """Archive a space: it can be read and not written. For curators."""
    space = await memory.update_space(space_id, archived=True)
    return Answer(space, f"space {escape(space_id)} is archived", f"undo: keeps spaces unarchive {space_id}")


@command(spaces)
async def unarchive(memory: Memory, space_id: SpaceId) -> Answer:
    """Open an archived space again. For curators."""
    return Answer(await memory.update_space(space_id, archived=False), f"space {escape(space_id)} is open")


@command(spaces)
async def erase(target: Target, space_id: SpaceId, yes: Yes = False) -> Answer:
    """Erase a space permanently: rows, vectors, state, members, and the contents of events. For curators."""
    confirm(f"the space {space_id} with everything in it", yes=yes)
    async with target.memory() as memory:
        receipt = await memory.erase_space(space_id)
    await target.end_background()
    return erased(receipt)


@command(spaces)
async def export(
    memory: Memory,
    space_id: SpaceId,
    file: Annotated[Path | None, typer.Argument(help="File to write. Default, or with -: standard output.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", "--force", help="Replace an existing file.")] = False,
) -> None:
    """Export a space with its members as JSON lines, which `keeps import` reads. For curators."""
    file = None if file == Path("-") else file
    check_absent(file, overwrite=overwrite)
    exported = await memory.export_space_lines(space_id)
    with private_file(file) if file else nullcontext(sys.stdout) as stream:
        stream.writelines(line + "\n" for line in exported)
    err.print(f"[dim]{len(exported):,} lines of the space {escape(space_id)}[/]")


@command(spaces)
async def add_member(
    memory: Memory,
    space_id: SpaceId,
    member_id: MemberId,
    role: Annotated[Role, typer.Option(help="reader, writer or curator.")] = "writer",
    is_agent: IsAgent = False,
    days: Annotated[float | None, typer.Option(help="Days until the membership ends. Default: never.")] = None,
) -> Answer:
    """Add a member to a space, or change the role of one. For curators.

    A reader reads; a writer also stores, changes and forgets; a curator also erases, and manages the space.
    """
    if days is not None and not 0 < days <= 36_500:
        raise ValidationFailedError("--days must be more than 0 and at most 36500")
    member = await memory.set_space_member(
        space_id,
        member_id,
        role,
        member_type="agent" if is_agent else "user",
        expires_at=None if days is None else utc_now() + timedelta(days=days),
    )
    until = f" until {member.expires_at:%Y-%m-%d %H:%M}" if member.expires_at else ""
    return Answer(
        member, f"{member.member_type} {escape(member_id)} is a {role} of the space {escape(space_id)}{until}"
    )


@command(spaces)
async def remove_member(memory: Memory, space_id: SpaceId, member_id: MemberId, is_agent: IsAgent = False) -> Answer:
    """Remove a member, who sees nothing of the space from then on. For curators; anyone may leave."""
    done = await memory.remove_space_member(space_id, member_id, member_type="agent" if is_agent else "user")
    return Answer(done, escape(done.message))


def _detail(space: SpaceDetail) -> Answer:
    def text() -> None:
        title = f"  {escape(space.title)}" if space.title else ""
        out.print(
            f"[bold]{escape(space.space_id)}[/]{title}  [dim]since {space.created_at:%Y-%m-%d}, {_state(space)}[/]"
        )
        rows = [
            (
                member.member_id,
                member.member_type,
                member.role,
                f"{member.added_at:%Y-%m-%d}",
                f"{member.expires_at:%Y-%m-%d}" if member.expires_at else None,
            )
            for member in space.member_list
        ]
        print_table(["member", "type", "role", "since", "until"], rows)

    return Answer(space, text)


def _state(space: Space) -> str:
    return f"archived {space.archived_at:%Y-%m-%d}" if space.archived_at else "open"


def _who(target: Target) -> str:
    named = not (target.url and target.token) or "user" in target.explicit
    return f"User {target.user} is" if named else "You are"
