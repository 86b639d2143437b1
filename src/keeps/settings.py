"""Settings: arguments over environment over keeps.toml. Read once, passed on."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast, get_args

from keeps_client.errors import ValidationFailedError

EmbedderName = Literal["local", "openai", "none"]
SYSTEM_HOME = Path("/var/lib/keeps/default")


@dataclass(frozen=True, slots=True)
class Settings:
    """What a Keeps needs to open. `home` matters only without a `database_url`."""

    home: Path
    database_url: str | None = None
    pool_size: int = 10
    embedder: EmbedderName = "local"
    embedding_model: str = "text-embedding-3-small"
    embedding_dimensions: int | None = None
    embedding_base_url: str | None = None
    embedding_api_key: str | None = None
    model_dir: Path | None = None

    def __repr__(self) -> str:
        """Without passwords and keys."""
        where = "KEEPS_DATABASE_URL" if self.database_url else str(self.home)
        return f"Settings({where}, embedder={self.embedder})"


def load_settings(
    environment: Mapping[str, str] | None = None, *, home: Path | str | None = None, database_url: str | None = None
) -> Settings:
    """Settings from arguments, then KEEPS_* variables, then keeps.toml in the current folder.

    Raises ValidationFailedError for a value that cannot be used, naming it.
    """
    environment = os.environ if environment is None else environment
    file = _read_file(Path("keeps.toml"))

    def setting(name: str) -> str | None:
        value = environment.get(f"KEEPS_{name.upper()}")
        if value is None and name in file:
            value = str(file[name])
        return value or None

    embedder = setting("embedder") or "local"
    if embedder not in get_args(EmbedderName):
        raise ValidationFailedError(
            f"KEEPS_EMBEDDER is {embedder!r}; it must be one of {', '.join(get_args(EmbedderName))}"
        )
    dimensions = setting("embedding_dimensions")
    url = database_url or setting("database_url")
    if url is not None and not url.startswith(("postgresql://", "postgres://")):
        raise ValidationFailedError(
            "KEEPS_DATABASE_URL is not a PostgreSQL URL; write postgresql://keeps_app:password@host/database"
        )
    model_dir = setting("model_dir")
    return Settings(
        home=Path(home or setting("home") or _default_home()),
        database_url=url,
        pool_size=_whole("KEEPS_POOL_SIZE", setting("pool_size") or "10"),
        embedder=cast("EmbedderName", embedder),
        embedding_model=setting("embedding_model") or "text-embedding-3-small",
        embedding_dimensions=_whole("KEEPS_EMBEDDING_DIMENSIONS", dimensions) if dimensions else None,
        embedding_base_url=setting("embedding_base_url") or setting("llm_base_url"),
        embedding_api_key=setting("embedding_api_key") or setting("llm_api_key"),
        model_dir=Path(model_dir) if model_dir else None,
    )


def _default_home() -> Path:
    """~/.keeps; for root, whose home no unprivileged server may enter, a system folder."""
    return SYSTEM_HOME if os.geteuid() == 0 else Path.home() / ".keeps"


def _whole(name: str, value: str) -> int:
    if not value.isdecimal() or not 1 <= int(value) <= 10_000:
        raise ValidationFailedError(f"{name} is {value!r}; it must be a whole number from 1 to 10,000")
    return int(value)


def _read_file(path: Path) -> dict[str, object]:
    if not path.is_file():
        return {}
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValidationFailedError(f"{path} is not valid TOML: {error}") from None
