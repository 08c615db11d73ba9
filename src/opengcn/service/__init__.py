"""The service: `opengcn serve` answers over HTTP what `opengcn threshold` answers in a shell.

The process that listens only moves bytes; worker processes read bodies and estimate. See
docs/service.md.
"""
