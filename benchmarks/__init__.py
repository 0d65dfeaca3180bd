"""How fast metier is, measured against others in the same run. docs/benchmarks.md says how to read it."""
