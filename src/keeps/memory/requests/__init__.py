"""The log of recalls and contexts: questions, and the ids of the memories that answered them."""
