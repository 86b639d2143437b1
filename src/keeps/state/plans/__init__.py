"""Plans: goals on their way, with the state machine of their planner."""
