"""From text to facts: by rules, and with an LLM where there is one; and what a new fact does to what is known."""
