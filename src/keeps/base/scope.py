"""The identity of a caller. Every access to the database needs a `Scope`."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, TypeVar

from keeps.base.defaults import DEFAULT_TENANT_ID, DEFAULT_USER_ID
from keeps_client.errors import ForbiddenError, NotFoundError, ValidationFailedError
from keeps_client.models import ContextRequest, RecallRequest
from keeps_client.models.memories import Visibility
from keeps_client.models.names import MAX_SPACE_CHARACTERS, SPACE_PREFIX
from keeps_client.validation import named_id
from keeps_client.zones import named_zone

SHARED_USER_ID = "(shared)"
JOB_USER_ID, COSTS_USER_ID = "keeps.jobs", "keeps.costs"
"""The users as which jobs change a tenant's data, and as which costs are counted and events of budgets written."""
"""Owner of the plans and task contexts that all users of a tenant share.

Row security separates it from the users of the tenant, and from other tenants, like any other user.
"""
ResultT = TypeVar("ResultT")
RequestT = TypeVar("RequestT", RecallRequest, ContextRequest)
_LIMITS = {"tenant_id": 64, "user_id": 255, "agent_id": 255, "session_id": 255}


def check_id(name: str, value: object) -> str:
    """Return `value` if it can be an id: 1 to n printable characters, no surrounding space.

    Raises ValidationFailedError naming the field otherwise.
    """
    return named_id(name, value, _LIMITS[name])


@dataclass(frozen=True)
class Grant:
    """The limits of a key or token beside its roles; the database enforces them.

    `access`: "read" stores nothing, "append" adds memories and sees nothing. `spaces`: works in these spaces only.
    `namespaces`, `kinds`: sees and stores only memories with these, and nothing that is no memory.
    """

    access: Literal["read", "append"] | None = None
    spaces: tuple[str, ...] | None = None
    namespaces: tuple[str, ...] | None = None
    kinds: tuple[str, ...] | None = None

    @property
    def memories_only(self) -> bool:
        """Return whether it covers some memories and nothing else."""
        return self.access == "append" or self.namespaces is not None or self.kinds is not None

    @cached_property
    def setting(self) -> str:
        """Return the limits as the database reads them."""
        limits = {"access": self.access, "spaces": self.spaces, "namespaces": self.namespaces, "kinds": self.kinds}
        return json.dumps({name: value for name, value in limits.items() if value is not None})


@dataclass(frozen=True, slots=True)
class Scope:
    """The tenant and user of every operation, and the acting agent and session.

    `tenant_id` separates all data; `user_id` owns what is written. Both are text ids; a UUID is used as its text.
    `agent_bound`: hides the experiences and skills of the user's other agents, as for an agent's token.
    `any_user`: the caller may also act for other users of the tenant.
    `timezone`: the user's time zone, as a name or UTC offset, for calls without one.
    """

    tenant_id: str = DEFAULT_TENANT_ID
    user_id: str = DEFAULT_USER_ID
    agent_id: str | None = None
    session_id: str | None = None
    roles: frozenset[str] = field(default=frozenset({"writer"}))
    agent_bound: bool = False
    any_user: bool = False
    timezone: str | None = field(default=None, compare=False)
    key_id: str | None = field(default=None, compare=False, repr=False)
    """The API key of the caller, for the log."""
    grant: Grant | None = None
    """The limits of the caller's key or token; None for none."""
    acting_user: str | None = field(default=None, compare=False, repr=False)
    """The acting user, when the rows belong to the whole tenant or to a space."""
    open_spaces: tuple[str, ...] = field(default=(), compare=False, repr=False)
    """Owners of the spaces that a recall searches, once they are known."""

    def __post_init__(self) -> None:
        check_id("tenant_id", self.tenant_id)
        check_id("user_id", self.user_id)
        if self.agent_id is not None:
            check_id("agent_id", self.agent_id)
        if self.session_id is not None:
            check_id("session_id", self.session_id)
        if self.timezone is not None:
            named_zone(self.timezone)
        if self.agent_bound and self.agent_id is None:
            raise ValidationFailedError("agent_bound needs an agent_id")

    @property
    def bound_agent(self) -> str:
        """The agent that the token is bound to; empty for the user or any agent of theirs."""
        return (self.agent_id or "") if self.agent_bound else ""

    @property
    def audiences(self) -> list[str]:
        """Return the owners whose memories may answer, in order; '' for what the tenant shares."""
        return sorted({"", self.user_id, *self.open_spaces})

    @property
    def reader(self) -> tuple[str, str, str, str]:
        """Return what row security depends on beside the tenant: user, bound agent, acting user and grant."""
        return self.user_id, self.bound_agent, self.acting, "" if self.grant is None else self.grant.setting

    @property
    def memories_only(self) -> bool:
        """Return whether the caller's key or token covers some memories and nothing else."""
        return self.grant is not None and self.grant.memories_only

    @property
    def acting(self) -> str:
        """The user who acts: `acting_user`, or `user_id` where the user's own rows are meant."""
        return self.acting_user or self.user_id

    @property
    def space_id(self) -> str | None:
        """The space whose rows are meant; None for a user's own."""
        return space_of(self.user_id)


def space_owner(space_id: str) -> str:
    """Return the user id that owns the rows of a space. Raises ValidationFailedError unless it can be an id."""
    return SPACE_PREFIX + named_id("space", space_id, MAX_SPACE_CHARACTERS)


def space_of(user_id: str) -> str | None:
    """Return the space whose rows this user id owns; None for a user."""
    return user_id.removeprefix(SPACE_PREFIX) if user_id.startswith(SPACE_PREFIX) else None


def in_space(scope: Scope, space_id: str) -> Scope:
    """Return the scope in which the user acts in a space. Row security decides whether the user may."""
    return replace(scope, user_id=space_owner(space_id), acting_user=scope.acting)


def shared(scope: Scope) -> Scope:
    """Return the scope of the tenant's shared data. Rows and events name the user as the agent."""
    agent_id = scope.agent_id or scope.acting
    return replace(scope, user_id=SHARED_USER_ID, agent_id=agent_id, acting_user=scope.acting)


def check_actor(scope: Scope) -> Scope:
    """Return the scope of a caller. Raises ForbiddenError for a user that owns shared data, or that the server is."""
    if owns_shared(scope.user_id):
        raise ForbiddenError(f"the user {scope.user_id!r} owns shared data; nobody can act as it")
    if is_reserved(scope.user_id):
        raise ForbiddenError(f"the user {scope.user_id!r} is reserved for Keeps itself; nobody can act as it")
    return scope


def as_user(scope: Scope, user_id: str) -> Scope:
    """Return the scope of another user of the tenant, for credentials that may act for any user.

    Raises ForbiddenError for a user that owns shared data.
    """
    return check_actor(replace(scope, user_id=user_id, acting_user=None))


def is_own(owner: str, user_id: str) -> bool:
    """Return whether what a user id owns is the user's own words: what a space owns may be anyone's."""
    return owner == user_id and space_of(owner) is None


def owns_shared(user_id: str) -> bool:
    """Return whether this user id owns the data of a space, or what the tenant shares."""
    return user_id == SHARED_USER_ID or user_id.startswith(SPACE_PREFIX)


def is_reserved(user_id: str) -> bool:
    """Return whether no caller may act as this user: it owns shared data, or the server acts as it."""
    return owns_shared(user_id) or user_id in (JOB_USER_ID, COSTS_USER_ID)


def state_scope(scope: Scope, visibility: str) -> Scope:
    """Return the scope that owns a plan or task of this visibility: in a space, all belong to the space."""
    return shared(scope) if visibility == "tenant" and scope.space_id is None else scope


def visibility_of(user_id: str) -> Visibility:
    """Return the visibility of a plan or a task context of this user."""
    return "tenant" if user_id == SHARED_USER_ID else "private"


async def own_or_shared(scope: Scope, ask: Callable[[Scope], Awaitable[ResultT]]) -> ResultT:
    """Return the result of `ask` for the user's own rows, or else for the shared rows of the tenant.

    Raises:
        NotFoundError: There is neither.
    """
    try:
        return await ask(scope)
    except NotFoundError as error:
        try:
            return await ask(shared(scope))
        except NotFoundError:
            raise error from None


def in_zone(scope: Scope, request: RequestT) -> RequestT:
    """Return the request with the scope's time zone if it has none."""
    if request.timezone is not None or scope.timezone is None:
        return request
    return request.model_copy(update={"timezone": scope.timezone})
