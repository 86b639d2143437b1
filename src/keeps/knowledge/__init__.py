"""Memories under the names of CoALA: what is known, what happened, how things are done."""
