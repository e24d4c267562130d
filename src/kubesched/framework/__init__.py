"""The contract that plugins are written against."""
