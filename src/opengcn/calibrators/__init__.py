"""Calibrators: they learn from labelled sets and estimate the curves of unlabelled ones."""
