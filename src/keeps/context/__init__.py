"""The context router: what to put into the prompt, under a budget of tokens, before the LLM sees it."""
