"""Keeps in a real browser: Chromium, driven by Playwright. `make browser` runs these."""
