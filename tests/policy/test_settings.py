"""Settings that are mistyped are not settings that are ignored."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from keeps.base.settings import Settings, load_settings
from keeps_client.errors import ValidationFailedError


def test_unknown_setting_in_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "keeps.toml").write_text("pool_sise = 5\n")
    with pytest.raises(ValidationFailedError, match="did you mean pool_size"):
        load_settings({}, home=tmp_path)
    (tmp_path / "keeps.toml").write_text('colour = "blue"\n')
    with pytest.raises(ValidationFailedError, match="colour, which is not a setting"):
        load_settings({}, home=tmp_path)


def test_only_unknown_keeps_variables_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValidationFailedError, match="did you mean KEEPS_DATABASE_URL"):
        load_settings({"KEEPS_DATABSE_URL": "postgresql://host/keeps"}, home=tmp_path)
    with pytest.raises(ValidationFailedError, match="KEEPS_BAKERY is not a setting"):
        load_settings({"KEEPS_BAKERY": "rye"}, home=tmp_path)
    assert load_settings({"KEEPS_TOKEN": "t", "KEEPS_URL": "u"}, home=tmp_path).port == 8765


def test_unknown_time_zone_is_refused(tmp_path: Path) -> None:
    assert load_settings({"KEEPS_TIMEZONE": "Europe/Berlin"}, home=tmp_path).timezone == "Europe/Berlin"
    with pytest.raises(ValidationFailedError, match="KEEPS_TIMEZONE: unknown time zone 'Foo'; use an IANA name"):
        load_settings({"KEEPS_TIMEZONE": "Foo"}, home=tmp_path)


@pytest.mark.parametrize(
    "name", sorted(field.name for field in fields(Settings) if field.name not in ("home", "otlp_endpoint"))
)
def test_every_setting_may_be_named(tmp_path: Path, name: str) -> None:
    """It may be given a value that is wrong, but it is known."""
    (tmp_path / "keeps.toml").write_text(f'{name} = ""\n')
    load_settings({}, home=tmp_path)


def test_secret_is_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "jwt"
    file.write_text("a secret of at least thirty-two bytes\n")
    named = {"KEEPS_JWT_SECRET_FILE": str(file)}
    assert load_settings(named, home=tmp_path).jwt_secret == "a secret of at least thirty-two bytes"
    with pytest.raises(ValidationFailedError, match="both set"):
        load_settings({**named, "KEEPS_JWT_SECRET": "x"}, home=tmp_path)
    with pytest.raises(ValidationFailedError, match="cannot be read: No such file"):
        load_settings({"KEEPS_TOKEN_FILE": str(tmp_path / "none")}, home=tmp_path)
    file.write_text("\n")
    with pytest.raises(ValidationFailedError, match="is empty"):
        load_settings(named, home=tmp_path)
    with pytest.raises(ValidationFailedError, match="KEEPS_HOST_FILE is not a setting"):
        load_settings({"KEEPS_HOST_FILE": str(file)}, home=tmp_path)
