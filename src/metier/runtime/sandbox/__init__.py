"""The sandbox: what a script can reach, per level, and the processes that hold it there."""
