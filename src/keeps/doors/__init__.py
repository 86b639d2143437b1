"""Ways in: HTTP server, command line, console."""
