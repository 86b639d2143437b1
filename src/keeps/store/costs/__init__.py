"""Costs of models: calls, tokens and seconds by tenant, day, job and model, and budgets."""
