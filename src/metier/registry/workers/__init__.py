"""Processes that do slow work on untrusted input, within a budget of processor time and memory."""

from .pool import OverBudgetError, WorkerPool, Workers

__all__ = ["OverBudgetError", "WorkerPool", "Workers"]
