"""The command line. `metier GROUP COMMAND` lives in `cli/GROUP/COMMAND.py`; a small group is one file, `cli/GROUP.py`."""
