"""What becomes of memories with time: decay, promotion, expiry; operations, and undoing them."""
