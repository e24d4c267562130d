"""Kept answers: columns, layers of them, and what they are remembered by."""
