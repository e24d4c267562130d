"""`python -m kubesched`: the same as the `kubesched` command."""

from kubesched.cli.entry import process

process()
