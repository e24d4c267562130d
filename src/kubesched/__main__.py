"""`python -m kubesched`: the same as the `kubesched` command."""

from kubesched.cli.main import process

process()
