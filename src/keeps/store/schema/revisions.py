"""The revisions of the schema."""

from __future__ import annotations

REVISIONS = {
    "0001": "Tenants, users, memories, data derived from them, and events.",
    "0002": "Shared state of agents, access keys, quotas, stored answers for retries.",
    "0003": "The log by months, append-only by trigger; replay, retention, webhooks.",
    "0004": "The graph.",
    "0005": "Layers with a lifecycle.",
    "0006": "Shared state, and complete erasure.",
    "0007": "Documents, and the place of each passage in them.",
    "0008": "Databases to query, and the audits of queries.",
    "0009": "Transcripts.",
    "0010": "Words in lists by audience.",
    "0011": "Words in their own language.",
    "0012": "Tokens used by LLMs, by job.",
    "0013": "Tenants on several PostgreSQLs.",
    "0014": "Index use in queries over all tenants.",
    "0015": "Items that wait for vectors.",
    "0016": "Page breaks inside passages.",
    "0017": "Shared state of plans.",
    "0018": "Verification of the log itself.",
    "0019": "Jobs that the engine declares.",
    "0020": "Versions of audiences, for the arrays that recall holds in memory.",
    "0021": "Changed memories of an audience: all of them, or the notice that there are too many.",
    "0022": "The log of requests.",
    "0023": "Facts about the user that have expired are left out of contexts.",
    "0024": "Spaces: memory that several users or agents share, with members. Keys with limits.",
    "0025": "A chain of hashes over the log of each tenant.",
    "0026": "Memories that wait in the inbox, and how far a memory is trusted.",
    "0027": "What models cost, by day, job and model, and budgets of which tenants were told.",
    "0028": "Counters of each tenant, so that nothing counts all rows.",
    "0029": "Frozen tenants: a directory of bundles, and the day of a tenant's last call.",
    "0030": "Jobs that rest while their tenant has no work for them.",
    "0031": "Working memory of a space apart from that of the tenant and of other spaces.",
}
"""Each revision, with its description. Its statements are in the file of its number, such as 0001.sql; a revision
without a file changes functions.sql or policies.sql alone."""
HEAD = max(REVISIONS)
"""The newest revision."""
WORDS_REVISION = "0011"
"""The last revision that changed the storage of a memory's words."""
