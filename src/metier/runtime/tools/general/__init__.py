"""The general tools: files of the workspace, commands and code, all of them confined."""
