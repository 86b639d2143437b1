"""State that agents share: plan state, plans, tasks, sessions, items, transcripts."""
