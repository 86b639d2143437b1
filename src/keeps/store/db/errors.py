"""Translation of PostgreSQL and network errors into Keeps errors."""

from __future__ import annotations

import asyncio

import asyncpg

from keeps_client.errors import (
    ConflictError,
    KeepsError,
    NotFoundError,
    QuotaExceededError,
    UnavailableError,
    ValidationFailedError,
)


class MissingError(ValidationFailedError):
    """A write names something that does not exist."""


class UserGoneError(NotFoundError):
    """The tenant or user of a write does not exist (any more): introduce it and try again."""


RETRYABLE = (asyncpg.DeadlockDetectedError, asyncpg.SerializationError, asyncpg.LockNotAvailableError)
"""Errors after which the same transaction, tried again, will most likely pass."""

LOST = (
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,
    asyncpg.CannotConnectNowError,
    asyncpg.TooManyConnectionsError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.InternalClientError,
    ConnectionError,
    OSError,
    asyncio.TimeoutError,
)
"""Errors of a server that went away or does not answer."""


LEADER_GONE = (
    asyncpg.ReadOnlySQLTransactionError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.CannotConnectNowError,
    asyncpg.PostgresConnectionError,
    ConnectionError,
)
"""Errors during a write that mean the server does not, or soon will not, accept writes."""


def constraint_of(error: BaseException) -> str | None:
    """Return the name of the constraint that refused a row, or None."""
    return (
        getattr(error, "constraint_name", None)
        if isinstance(error, asyncpg.IntegrityConstraintViolationError)
        else None
    )


def translated(error: BaseException) -> KeepsError | None:
    """Return the Keeps error for a database error, or None if only a defect of Keeps explains it.

    Messages never contain values, since PostgreSQL's detail line may hold a memory.
    """
    if isinstance(error, asyncpg.QueryCanceledError):
        return UnavailableError("the database took too long and was stopped; nothing was written")
    if isinstance(error, asyncpg.DiskFullError):
        return UnavailableError("the database's disk is full; nothing was written. Free some space and try again")
    code = getattr(error, "sqlstate", None)
    if code == "KQ001":
        return QuotaExceededError(
            f"the tenant's quota is used up: {error}; nothing was written. Delete memories, or ask the operator for a"
            " higher quota"
        )
    if code == "KF001":
        return UnavailableError(f"{error}; nothing was changed")
    if code == "KT001":
        return ValidationFailedError(str(error))
    if isinstance(error, asyncpg.ForeignKeyViolationError) and (constraint_of(error) or "").endswith(
        ("_user_exists", "_tenant_exists")
    ):
        return UserGoneError("this user or tenant was erased")
    if isinstance(error, asyncpg.ForeignKeyViolationError | asyncpg.NotNullViolationError):
        return MissingError(
            f"names something that does not exist ({constraint_of(error) or 'a field'}); nothing was written"
        )
    if isinstance(error, asyncpg.DataError) or (
        isinstance(error, asyncpg.InterfaceError) and isinstance(error, ValueError)
    ):
        return ValidationFailedError("a value is of the wrong type, or out of range; nothing was written")
    if isinstance(error, asyncpg.InsufficientPrivilegeError) and "row-level security" in str(error):
        return NotFoundError("it belongs to another user, or does not exist; nothing was written")
    if isinstance(error, asyncpg.UniqueViolationError):
        if constraint_of(error) == "entities_name_unique":
            return ConflictError("you already have an entity with this type and name")
        return ConflictError(
            f"another of your memories has this {'key' if 'key' in (constraint_of(error) or '') else 'content'}"
        )
    if isinstance(error, asyncpg.CheckViolationError):
        return ValidationFailedError(f"a value violates the constraint {constraint_of(error)}; nothing was written")
    if isinstance(error, asyncpg.ProgramLimitExceededError):
        return ValidationFailedError("the input is too large for the database; nothing was written")
    if isinstance(error, RETRYABLE):
        return UnavailableError("the database was too busy with other writers; nothing was written. Try again")
    if isinstance(error, asyncpg.OutOfMemoryError | asyncpg.InsufficientResourcesError):
        return UnavailableError("the database ran out of a resource; nothing was written. Try again later")
    if isinstance(error, asyncpg.DataCorruptedError | asyncpg.IndexCorruptedError):
        return UnavailableError(
            "a part of the database is damaged; nothing was written. For the operator: PostgreSQL's log names the"
            " part, and `keeps backup restore` restores a backup"
        )
    if isinstance(error, asyncpg.PostgresSystemError):
        return UnavailableError("the database's disk failed; nothing was written. See PostgreSQL's log")
    if isinstance(error, LOST):
        return UnavailableError(f"the database cannot be reached ({type(error).__name__}); try again")
    if isinstance(error, asyncpg.UntranslatableCharacterError | asyncpg.CharacterNotInRepertoireError):
        return ValidationFailedError("text contains a character that PostgreSQL cannot store")
    return None
