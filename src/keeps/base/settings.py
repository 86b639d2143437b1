"""Settings: arguments override the environment, which overrides keeps.toml. Read once and passed on.

The file is the one named by `--config` or KEEPS_CONFIG, else `keeps.toml` in the home. The current folder is never
searched: a cloned repository could otherwise choose the database.
"""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass, fields
from functools import partial
from ipaddress import ip_network
from pathlib import Path
from typing import Any, Literal, get_args
from urllib.parse import urlsplit

from keeps.base.budgets import Budget, Price, parse_budgets, parse_prices
from keeps_client.errors import ValidationFailedError
from keeps_client.values import MAX_CONTENT_CHARACTERS, Visibility
from keeps_client.zones import zone_of

EMBEDDERS = ("local", "multilingual", "openai", "none", "onnx:FOLDER", "hub:NAME")
RERANKERS = ("none", "local", "onnx:FOLDER", "hub:NAME")
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
AuthMode = Literal["none", "jwt", "keys", "jwt+keys"]
RouterEngine = Literal["pgdog", "spqr"]
LogLevel = Literal["debug", "info", "warning", "error"]
OTHER_VARIABLES = frozenset(
    "url token tenant_id user_id agent_id config admin_url owner_password app_password"
    " database_to_ask cell_admins".split()
)
"""Other environment variables, which the client, the commands and the tests read."""
SECRETS = (
    "database_url read_database_url worker_database_url router_shards redis_url jwt_secret secret_keys signing_key"
    " frozen_store_key llm_api_key embedding_api_key openai_api_key token admin_url cell_admins owner_password"
    " app_password".split()
)
"""Settings that a file may hold, named by the variable with `_FILE` at its end."""
ABOUT = {
    "home": "folder of the embedded database",
    "database_url": "your own PostgreSQL, as `keeps_app`",
    "read_database_url": "standbys for reads, separated by spaces ([high availability](../failover.md))",
    "worker_database_url": "the same database without a pooler such as PgBouncer, because the worker uses LISTEN",
    "router": "`pgdog` or `spqr`, if `KEEPS_DATABASE_URL` leads to a [sharding router](../routers.md)",
    "router_shards": "direct addresses of the shards behind the router, `NAME=URL` separated by spaces",
    "pool_size": "maximum number of connections to the database",
    "embedder": "the [model](../models.md): `local`, `multilingual`, `onnx:FOLDER`, `hub:NAME`, `openai`, or `none`",
    "reranker": "model that reads the best hits [together with the question](../models.md#a-reranker): `local`,"
    " `onnx:FOLDER`, `hub:NAME`, or `none`",
    "model_dir": "folder with the pinned `model.onnx`",
    "embedding_model": "for `openai`: name of the model",
    "embedding_base_url": "for `openai`: address of a server with OpenAI's API",
    "embedding_api_key": "for `openai`: API key",
    "embedding_dimensions": "for `openai`: length of the vectors, if the model supports it",
    "llm_base_url": "address of an LLM with OpenAI's API, for [extraction](../llm.md) (extra `openai`)",
    "llm_model": "name of the LLM",
    "llm_api_key": "API key of the LLM",
    "llm_tokens_per_day": "tokens of the LLM that a tenant may use per day ([budgets](../costs.md#budgets))",
    "llm_budgets": "further [budgets](../costs.md#budgets), separated by commas: `tenant/month=20000000 tokens,"
    " installation/month=40.00`",
    "llm_prices": "prices of a million tokens by model, separated by commas: `MODEL=IN/OUT`",
    "openai_upstream": "address of the model provider behind the [OpenAI-compatible proxy](../openai-proxy.md), such as"
    " `https://api.openai.com/v1`; without it `/openai/v1` does not exist",
    "openai_api_key": "API key of that provider",
    "openai_budget_tokens": "maximum tokens of the context that the proxy adds to a request",
    "session_hours": "hours that [notes of a conversation](../layers.md) stay after its last exchange",
    "max_content_characters": "maximum length of a memory, at most 50,000",
    "state_visibility": "default visibility of plans and task contexts: `private`, or `tenant`, which shares them by id"
    " ([shared plans and tasks](../service.md#shared-plans-and-tasks))",
    "default_ttl_days": "default time to live of a memory in days; none if not set",
    "cleanup_interval_hours": "hours between removals of expired memories",
    "markdown_folder": "folder of the [Markdown memory](../providers.md#markdown)",
    "secret_keys": "keys that encrypt the credentials of [databases](../databases.md) and cookies of the console",
    "signing_key": "private key that signs [certificates of erasures](../proof.md#certificates-of-erasures); without"
    " it, one is made in the home of the embedded database",
    "frozen_store": "where the bundles of [frozen tenants](../freezing.md) are kept: `file:///folder`, or"
    " `s3://bucket/folder?region=…&endpoint=https://…`",
    "frozen_store_key": "credentials for an S3-compatible store of bundles: `ACCESS_KEY_ID:SECRET`",
    "freeze_after_days": "days without a call after which the worker [freezes](../freezing.md) a tenant; never"
    " if not set",
    "databases_allow": "private networks, hosts and folders with databases that may be queried",
    "host": "address that `keeps serve` listens on",
    "port": "port that `keeps serve` listens on",
    "auth": "accepted credentials: `none`, `jwt`, `keys`, `jwt+keys` ([access](../access.md))",
    "jwt_secret": "secret for HS256, at least 32 bytes",
    "jwks_url": "address of the public keys for RS256 and ES256",
    "jwt_issuer": "required `iss` of tokens, if set",
    "jwt_audience": "required `aud` of tokens, if set",
    "redis_url": "optional Redis or Valkey for rate limits and notes of all servers (extra `redis`)",
    "cors_origins": "origins of web pages that may use the server, separated by commas",
    "trusted_proxies": "proxies whose `X-Forwarded-For` and `X-Forwarded-Proto` are trusted: addresses and networks,"
    " separated by commas",
    "proxy_without_auth": "`true` serves requests from a [proxy](../proxy.md) even if `KEEPS_AUTH` is `none`",
    "reads_per_minute": "reads per minute for each user, with authentication",
    "writes_per_minute": "writes per minute for each user, with authentication",
    "max_body_bytes": "maximum size of a request body",
    "recall_megabytes": "memory in each process for ranking the memories of recently active users",
    "request_log_days": "days of the [log of recalls and contexts](../console.md#the-log-of-requests), 0 to 90; 0 logs"
    " nothing; 7 on the embedded database without KEEPS_AUTH, 0 otherwise",
    "background_seconds": "seconds without requests after which the"
    " [background process](../cli.md#the-background-process) ends; 0: commands open the database themselves",
    "webhooks_allow_private": "`true` lets [webhooks](../events.md) reach private addresses",
    "timezone": "time zone of users if a call names none, such as `Europe/Berlin`"
    " ([time zones](../context.md#time-zones))",
    "log_level": "`info` logs each request with its caller, `debug` also those for `/health`, `/ready` and `/metrics`",
    "url": "server for the SDK and the commands (`--url`)",
    "token": "token or key for that server (`--token`)",
    "tenant_id": "acting tenant, for the SDK and the commands (`--tenant`)",
    "user_id": "acting user (`--user`)",
    "agent_id": "acting agent (`--agent`)",
    "config": "settings file to use instead of `keeps.toml` in the home (`--config`)",
    "admin_url": "URL of PostgreSQL's administrator, for `keeps migrate` and `keeps events replay --into`",
    "cell_admins": "administrators of [cells](../cells.md), `NAME=URL` separated by spaces, to move tenants",
    "owner_password": "new password of `keeps_owner`, set by `keeps migrate`; migrations need none",
    "app_password": "new password of `keeps_app`, set by `keeps migrate`. Without it, an existing role keeps its own,"
    " and a new one gets a generated password, which is printed",
}
"""Description of each setting for the reference, in Markdown with links relative to docs/reference."""
SYSTEM_HOME = Path("/var/lib/keeps/default")


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a Keeps. `home` is used only without a `database_url`."""

    home: Path
    database_url: str | None = None
    read_database_url: tuple[str, ...] = ()
    worker_database_url: str | None = None
    router: RouterEngine | None = None
    router_shards: tuple[tuple[str, str], ...] = ()
    pool_size: int = 10
    embedder: str = "local"
    reranker: str = "none"
    embedding_model: str = "text-embedding-3-small"
    embedding_dimensions: int | None = None
    embedding_base_url: str | None = None
    embedding_api_key: str | None = None
    llm_base_url: str | None = None
    llm_model: str = "gpt-4o-mini"
    llm_api_key: str | None = None
    llm_tokens_per_day: int = 1_000_000
    llm_budgets: tuple[Budget, ...] = ()
    llm_prices: tuple[Price, ...] = ()
    openai_upstream: str | None = None
    openai_api_key: str | None = None
    openai_budget_tokens: int = 4_000
    session_hours: int = 24
    max_content_characters: int = MAX_CONTENT_CHARACTERS
    state_visibility: Visibility = "private"
    default_ttl_days: int | None = None
    cleanup_interval_hours: int = 24
    model_dir: Path | None = None
    markdown_folder: Path | None = None
    secret_keys: tuple[str, ...] = ()
    signing_key: str | None = None
    frozen_store: str | None = None
    frozen_store_key: str | None = None
    freeze_after_days: int | None = None
    databases_allow: tuple[str, ...] = ()
    host: str = "127.0.0.1"
    port: int = 8765
    auth: AuthMode | None = None
    jwt_secret: str | None = None
    jwks_url: str | None = None
    jwt_issuer: str | None = None
    jwt_audience: str | None = None
    redis_url: str | None = None
    cors_origins: tuple[str, ...] = ()
    trusted_proxies: tuple[str, ...] = ()
    proxy_without_auth: bool = False
    reads_per_minute: int = 600
    writes_per_minute: int = 100
    max_body_bytes: int = 8 << 20
    recall_megabytes: int = 256
    request_log_days: int | None = None
    webhooks_allow_private: bool = False
    background_seconds: int = 600
    timezone: str = "UTC"
    log_level: LogLevel = "info"
    otlp_endpoint: str | None = None

    @property
    def budgets(self) -> tuple[Budget, ...]:
        """Return all budgets, that of `llm_tokens_per_day` first unless `llm_budgets` has one in its place."""
        daily = Budget("tenant", "day", "tokens", self.llm_tokens_per_day)
        return (
            self.llm_budgets if daily.name in {each.name for each in self.llm_budgets} else (daily, *self.llm_budgets)
        )

    @property
    def logged_days(self) -> int:
        """Days for which recalls and contexts are logged. On by default only where one person asks on their machine."""
        if self.request_log_days is not None:
            return self.request_log_days
        alone = self.database_url is None and self.auth in (None, "none") and self.host in LOOPBACK
        return 7 if alone else 0

    def __repr__(self) -> str:
        """Omit passwords and keys."""
        where = "KEEPS_DATABASE_URL" if self.database_url else str(self.home)
        return f"Settings({where}, embedder={self.embedder})"


def load_settings(
    environment: Mapping[str, str] | None = None,
    *,
    home: Path | str | None = None,
    database_url: str | None = None,
    given: Mapping[str, str] | None = None,
) -> Settings:
    """Read settings from arguments (`given`, by variable name), then KEEPS_* variables, then keeps.toml.

    Raises ValidationFailedError naming the setting if its value is invalid.
    """
    environment = {**(os.environ if environment is None else environment), **(given or {})}
    read_secret_files(environment)
    place = Path(home or environment.get("KEEPS_HOME") or _default_home())
    config = environment.get("KEEPS_CONFIG")
    if config and not Path(config).is_file():
        raise ValidationFailedError(f"KEEPS_CONFIG names {config}, which is not a file")
    path = Path(config) if config else place / "keeps.toml"
    file = _read_file(path)
    _check_names(environment, file, path)
    _check_pairs(environment, file, path)

    def setting(name: str) -> str | None:
        value = environment.get(f"KEEPS_{name.upper()}")
        if value is None and name in file:
            value = str(file[name])
        return value or None

    names = [field.name for field in fields(Settings) if field.name not in ("home", "otlp_endpoint")]
    values: dict[str, Any] = {
        name: _READERS.get(name, _text)(f"KEEPS_{name.upper()}", text)
        for name in names
        if (text := (database_url if name == "database_url" else None) or setting(name)) is not None
    }
    if "database_url" not in values and ("read_database_url" in values or "worker_database_url" in values):
        raise ValidationFailedError(
            "KEEPS_READ_DATABASE_URL and KEEPS_WORKER_DATABASE_URL need KEEPS_DATABASE_URL; an embedded database has"
            " no standbys"
        )
    _check_router(values)
    _check_prices(values)
    if "freeze_after_days" in values and not {"frozen_store", "secret_keys"} <= values.keys():
        raise ValidationFailedError("KEEPS_FREEZE_AFTER_DAYS needs KEEPS_FROZEN_STORE and KEEPS_SECRET_KEYS")
    if "embedding_base_url" not in values:  # Send the LLM's key to the LLM's address only.
        values["embedding_base_url"] = values.get("llm_base_url")
        values.setdefault("embedding_api_key", values.get("llm_api_key"))
    return Settings(home=place, otlp_endpoint=environment.get("OTEL_EXPORTER_OTLP_ENDPOINT") or None, **values)


def _check_router(values: Mapping[str, Any]) -> None:
    """Raise ValidationFailedError unless a router has its URL and its shards, and no setting that it replaces."""
    if ("router" in values) != ("router_shards" in values):
        raise ValidationFailedError("KEEPS_ROUTER and KEEPS_ROUTER_SHARDS need each other; set both")
    if "router" not in values:
        return
    if "database_url" not in values:
        raise ValidationFailedError("KEEPS_ROUTER needs KEEPS_DATABASE_URL, which leads to the router")
    for name in ("read_database_url", "worker_database_url"):
        if name in values:
            raise ValidationFailedError(
                f"KEEPS_{name.upper()} does not go with KEEPS_ROUTER: KEEPS_ROUTER_SHARDS has the direct addresses"
            )
    if "frozen_store" in values:
        raise ValidationFailedError(
            "KEEPS_FROZEN_STORE does not go with KEEPS_ROUTER: tenants of shards are not frozen"
        )


def _check_prices(values: Mapping[str, Any]) -> None:
    """Raise ValidationFailedError if money is limited and the LLM has no price: nothing would ever be used up."""
    model = values.get("llm_model", Settings.__dataclass_fields__["llm_model"].default)
    limited = [budget.name for budget in values.get("llm_budgets", ()) if budget.unit == "money"]
    if limited and values.get("llm_base_url") and model not in {price.model for price in values.get("llm_prices", ())}:
        raise ValidationFailedError(
            f"KEEPS_LLM_BUDGETS limits money ({limited[0]}) and KEEPS_LLM_PRICES has no price for {model}; add"
            f" {model}=IN/OUT"
        )


def read_secret_files(environment: MutableMapping[str, str]) -> None:
    """Replace each `KEEPS_…_FILE` of SECRETS by the setting that the file holds. Raises ValidationFailedError."""
    for name in SECRETS:
        variable = f"KEEPS_{name.upper()}"
        path = environment.pop(f"{variable}_FILE", None)
        if not path:
            continue
        if environment.get(variable):
            raise ValidationFailedError(f"{variable} and {variable}_FILE are both set; set one of them")
        try:
            text = Path(path).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "not text"
            raise ValidationFailedError(f"{variable}_FILE names {path}, which cannot be read: {reason}") from None
        if not text:
            raise ValidationFailedError(f"{variable}_FILE names {path}, which is empty")
        environment[variable] = text


def _model(name: str, value: str, *, known: tuple[str, ...]) -> str:
    source, _, model = value.partition(":")
    if value not in known[:-2] and not (source in ("onnx", "hub") and model):
        raise ValidationFailedError(f"{name} is {value!r}; it must be one of {', '.join(known)}")
    return value


def _check_names(environment: Mapping[str, str], file: Mapping[str, object], path: Path) -> None:
    """Raise ValidationFailedError for an unknown name: a typo would otherwise silently open an empty database."""
    settings = {field.name for field in fields(Settings)} - {"otlp_endpoint"}
    for name in file:
        if name not in settings - {"home"}:
            raise ValidationFailedError(
                f"{path} sets {name}, which is not a setting of that file{_meant(name, settings)}"
            )
    check_variables(environment)


def check_variables(environment: Mapping[str, str]) -> None:
    """Raise ValidationFailedError for a variable that begins like those of Keeps and is none."""
    others = {field.name for field in fields(Settings)} - {"otlp_endpoint"} | OTHER_VARIABLES
    for variable in environment:
        name = variable.removeprefix("KEEPS_").lower()
        if variable.startswith("KEEPS_") and name not in others and not variable.startswith("KEEPS_TEST_"):
            raise ValidationFailedError(
                f"{variable} is not a"
                f" setting{_meant(name, others, 'KEEPS_') or '; the prefix KEEPS_ is reserved for Keeps'}"
            )


def _meant(name: str, known: set[str], prefix: str = "") -> str:
    begun = sorted((each for each in known if each.startswith(f"{name}_")), key=len)  # KEEPS_TENANT for KEEPS_TENANT_ID
    close = begun or difflib.get_close_matches(name, sorted(known), 1, 0.7)
    return f"; did you mean {prefix}{close[0].upper() if prefix else close[0]}?" if close else ""


def _check_pairs(environment: Mapping[str, str], file: Mapping[str, object], path: Path) -> None:
    """Raise ValidationFailedError if an address and its key come from different places.

    A file could otherwise send the key of the environment to another address.
    """
    for url, secret in (
        ("llm_base_url", "llm_api_key"),
        ("embedding_base_url", "embedding_api_key"),
        ("openai_upstream", "openai_api_key"),
    ):
        places = [
            "the environment" if environment.get(f"KEEPS_{name.upper()}") else str(path) if file.get(name) else None
            for name in (url, secret)
        ]
        if None not in places and places[0] != places[1]:
            raise ValidationFailedError(
                f"KEEPS_{url.upper()} is set in {places[0]} and KEEPS_{secret.upper()} in {places[1]}; set both in one"
                " place"
            )


def _default_home() -> Path:
    """Return ~/.keeps; for root a system folder, since no unprivileged server may enter root's home."""
    return SYSTEM_HOME if os.geteuid() == 0 else Path.home() / ".keeps"


def _text(_: str, value: str) -> str:
    return value


def _path(_: str, value: str) -> Path:
    return Path(value)


def _list(_: str, value: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in value.split(",") if part.strip())


def _networks(name: str, value: str) -> tuple[str, ...]:
    networks = _list(name, value)
    for network in networks:
        try:
            ip_network(network, strict=False)
        except ValueError:
            raise ValidationFailedError(
                f"{name} names {network!r}, which is not an address or network; write 10.0.0.0/8, 192.0.2.1"
            ) from None
    return networks


def _postgres(name: str, value: str) -> str:
    if not value.startswith(("postgresql://", "postgres://")):
        raise ValidationFailedError(
            f"{name} is not a PostgreSQL URL; write postgresql://keeps_app:password@host/database"
        )
    return value


def _web_address(name: str, value: str) -> str:
    from keeps.base.addresses import host_of  # Loads yarl, which commands do not need.

    if host_of(value) is None or any(mark in value for mark in "?#"):
        raise ValidationFailedError(
            f"{name} is not an address for a base URL; write https://host/v1, without a user, a query or a fragment"
        )
    return value.rstrip("/")


def _frozen_store(name: str, value: str) -> str:
    parts = urlsplit(value)
    folder = parts.scheme == "file" and not parts.netloc and parts.path.startswith("/") and len(parts.path) > 1
    if not folder and not (parts.scheme == "s3" and parts.netloc):
        raise ValidationFailedError(
            f"{name} is {value!r}; write file:///folder or s3://bucket/folder?region=eu-central-1&endpoint=https://host"
        )
    return value


def _postgres_list(name: str, value: str) -> tuple[str, ...]:
    return tuple(_postgres(name, url) for url in value.split())


def _shards(name: str, value: str) -> tuple[tuple[str, str], ...]:
    shards: dict[str, str] = {}
    for each in value.split():
        shard, equals, url = each.partition("=")
        if not equals or not shard or shard in shards:
            raise ValidationFailedError(
                f"{name} takes a=postgresql://keeps_app:password@host/database b=postgresql://…, each name once"
            )
        shards[shard] = _postgres(name, url)
    return tuple(shards.items())


def _true_or_false(name: str, value: str) -> bool:
    return _one_of(name, value.lower(), known=Literal["true", "false"]) == "true"


def _whole(name: str, value: str, *, least: int = 1, most: int = 10_000) -> int:
    if not (value.isascii() and value.isdecimal()) or not least <= int(value) <= most:
        raise ValidationFailedError(f"{name} is {value!r}; it must be a whole number from {least} to {most:,}")
    return int(value)


def _zone(name: str, value: str) -> str:
    try:
        zone_of(value)
    except ValueError as error:
        raise ValidationFailedError(f"{name}: {error}") from None
    return value


def _one_of(name: str, value: str, *, known: object) -> str:
    if value not in get_args(known):
        raise ValidationFailedError(f"{name} is {value!r}; it must be one of {', '.join(get_args(known))}")
    return value


def _read_file(path: Path) -> dict[str, object]:
    if not path.is_file():
        return {}
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValidationFailedError(f"{path} is not valid TOML: {error}") from None


def _lower_one_of(name: str, value: str, *, known: object) -> str:
    return _one_of(name, value.lower(), known=known)


_READERS: Mapping[str, Callable[[str, str], object]] = {
    "database_url": _postgres,
    "read_database_url": _postgres_list,
    "worker_database_url": _postgres,
    "router": partial(_one_of, known=RouterEngine),
    "router_shards": _shards,
    "pool_size": _whole,
    "background_seconds": partial(_whole, least=0, most=86_400),
    "embedder": partial(_model, known=EMBEDDERS),
    "reranker": partial(_model, known=RERANKERS),
    "embedding_dimensions": _whole,
    "llm_tokens_per_day": partial(_whole, most=10**12),
    "llm_budgets": parse_budgets,
    "llm_prices": parse_prices,
    "openai_upstream": _web_address,
    "openai_budget_tokens": partial(_whole, least=50, most=200_000),
    "session_hours": partial(_whole, most=8_760),
    "max_content_characters": partial(_whole, most=MAX_CONTENT_CHARACTERS),
    "state_visibility": partial(_one_of, known=Visibility),
    "default_ttl_days": partial(_whole, most=36_500),
    "cleanup_interval_hours": partial(_whole, most=720),
    "model_dir": _path,
    "markdown_folder": _path,
    "secret_keys": _list,
    "databases_allow": _list,
    "frozen_store": _frozen_store,
    "freeze_after_days": partial(_whole, most=36_500),
    "port": partial(_whole, most=65_535),
    "auth": partial(_one_of, known=AuthMode),
    "cors_origins": _list,
    "trusted_proxies": _networks,
    "proxy_without_auth": _true_or_false,
    "reads_per_minute": partial(_whole, most=10_000_000),
    "writes_per_minute": partial(_whole, most=10_000_000),
    "max_body_bytes": partial(_whole, most=1 << 30),
    "recall_megabytes": partial(_whole, most=1 << 20),
    "request_log_days": partial(_whole, least=0, most=90),
    "webhooks_allow_private": _true_or_false,
    "timezone": _zone,
    "log_level": partial(_lower_one_of, known=LogLevel),
}
"""Functions that check and convert a setting, from the name of its variable and its text. Others are text."""
