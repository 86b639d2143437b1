"""Memories by their CoALA names: knowledge, interactions, skills."""
