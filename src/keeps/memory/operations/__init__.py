"""Operations: receipts of jobs, and undoing them."""
