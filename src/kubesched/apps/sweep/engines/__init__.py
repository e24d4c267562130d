"""Where runs are done. Each engine takes batches and gives back what came of them; `sweep` decides what goes when."""
