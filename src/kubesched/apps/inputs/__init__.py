"""Where the objects that a command works on come from. One loader for all commands."""
