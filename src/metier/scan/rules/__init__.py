"""Rules judge what the readers yield, one module for each family; `table` explains every code."""
