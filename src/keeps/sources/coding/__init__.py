"""Sessions of coding agents: their transcripts, their projects, and the memories they become."""
