"""Documents: an organisation's written knowledge, searched on demand."""
