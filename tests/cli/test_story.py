"""The story of three weeks, as `keeps demo --story` tells it."""

from __future__ import annotations

from keeps.cli.context import Target
from keeps.cli.story import tell


async def test_the_story_of_three_weeks_holds(app_url: str, tenant: str) -> None:
    assert await tell(Target(database_url=app_url, tenant=tenant)) == 0
