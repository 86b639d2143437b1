"""Age memories: decay, promotion, expiry, consolidation; as operations that can be undone."""
