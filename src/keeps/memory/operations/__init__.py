"""Operations: receipts of what jobs did, and taking it back as one."""
