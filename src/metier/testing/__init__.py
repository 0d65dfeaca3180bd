"""Fakes, builders and conformance suites that we ship: what we test our own implementations with, for yours.

A suite is a class of pytest methods. Subclass it, say how to make one of yours, and pytest does the rest.
"""

from .files import FilesContract
from .machine import FakeMachine

__all__ = ["FakeMachine", "FilesContract"]
