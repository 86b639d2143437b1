"""Operations: the changes of background jobs by row, undo of a whole operation, and the queue."""

from __future__ import annotations

from starlette.responses import Response

from keeps.doors.console.mount import Call, read_number

PAGE, CHANGES = 30, 200


async def operations(call: Call) -> Response:
    page = await call.memory.operations(limit=PAGE, cursor=call.asked("cursor") or None)
    jobs = await call.admin.list_jobs() if call.may("operator") else []
    held = await call.admin.list_held_jobs() if call.may("operator") else []
    return call.page("operations.html", items=page.items, more=call.more(page.next_cursor), jobs=jobs, held=held)


async def operation(call: Call) -> Response:
    record = await call.memory.operation(call.given("operation_id"))
    changes = [
        (
            each,
            sorted(
                (name, (each.before or {}).get(name), value)
                for name, value in each.after.items()
                if (each.before or {}).get(name) != value and name not in ("content_hash", "version", "updated_at")
            ),
        )
        for each in record.changes[:CHANGES]
    ]
    return call.page(
        "operation.html", operation=record, changes=changes, left_out=max(0, len(record.changes) - CHANGES)
    )


async def undo(call: Call) -> Response:
    done = await call.memory.undo(call.given("operation_id"))
    return call.go(f"/ui/operations/{done.operation_id}", "undone")


async def retry(call: Call) -> Response:
    form = await call.form("operator")
    count = await call.admin.retry_jobs(read_number(str(form.get("job_id", "")), "job_id"))
    return call.go("/ui/operations", f"{count} jobs are queued again")


PAGES = {
    "GET /ui/operations": operations,
    "GET /ui/operations/{operation_id:uuid}": operation,
    "POST /ui/operations/{operation_id:uuid}/undo": undo,
    "POST /ui/operations/retry": retry,
}
