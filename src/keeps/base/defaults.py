"""The tenant and the user of a caller that names none."""

DEFAULT_TENANT_ID = "00000000-0000-0000-0000-000000000000"
DEFAULT_USER_ID = "default"
