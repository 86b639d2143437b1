"""Plans: goals in progress, with the state machine of their planner."""
