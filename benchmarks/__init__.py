"""Benchmarks of metier against other tools in the same run. docs/benchmarks.md explains the results."""
