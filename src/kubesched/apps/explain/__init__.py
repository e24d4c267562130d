"""Everything about one decision, taken by the engine that schedules: verdicts, scores, and what would help."""
