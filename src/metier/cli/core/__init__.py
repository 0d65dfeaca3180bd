"""The shared machinery of the command line: the command table, dispatch, options, results and rendering."""
