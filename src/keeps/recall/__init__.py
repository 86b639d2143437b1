"""Recall: one question, several arms, one ranking, and why."""
