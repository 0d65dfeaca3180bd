"""Processes that do slow work on untrusted input, within a budget of processor time and memory."""

from .pool import WorkBudgetError, WorkerPool, Workers

__all__ = ["WorkBudgetError", "WorkerPool", "Workers"]
