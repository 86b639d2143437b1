"""Log archiving for a home with backups.

The server copies its log into a spool, from which `keeps.operate.backups` takes it.
"""

from __future__ import annotations

from pathlib import Path

from keeps.store.db.embedded.server import DataFolder

ARCHIVE_SECONDS = 30
"""Age at which the log goes to the spool. With the shipper's wait, losing the disk loses at most a minute."""
BACKUP_PLAN, SPOOL = "backup.json", "wal-spool"
"""The file in the home that names the backup folder, and the spool beside the data."""


def archiving(home: Path, folder: DataFolder) -> dict[str, str]:
    """Return the server settings for archiving if the home has a backup plan.

    They include log summaries, for incremental backups.
    """
    if not (home / BACKUP_PLAN).is_file():
        return {}
    spool = folder.data.parent / SPOOL
    folder.user.run("mkdir", "-p", "-m", "700", "--", str(spool))
    place = "'" + str(spool).replace("'", "'\\''").replace("%", "%%") + "'"
    copy = f"cp '%p' {place}/.%f && sync {place}/.%f && mv {place}/.%f {place}/%f"
    return {
        "archive_mode": "on",
        # An existing segment was left by a crash: the same content is fine, anything else is an error.
        "archive_command": f"if [ -e {place}/%f ]; then cmp -s '%p' {place}/%f; else {copy}; fi",
        "archive_timeout": f"{ARCHIVE_SECONDS}s",
        "summarize_wal": "on",
    }
