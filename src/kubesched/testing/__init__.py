"""Builders and fakes for tests of plugins and of kubesched itself. Public."""
