"""The kubesched command, one module per subcommand. Imports are lazy: --help must stay fast."""
