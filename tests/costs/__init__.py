"""Tests of what models cost."""
