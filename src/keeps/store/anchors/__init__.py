"""Heads of chains that are written outside of the database: to files, to URLs, to time stamp authorities."""
