"""Words: what a text is searched by. Pure."""
