"""The context router: choose what goes into the prompt, within a token budget, before the LLM is called."""
