"""The conversations of `keeps demo`, written for it."""
