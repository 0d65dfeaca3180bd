"""Where installed skills go: the user or the project, and the folders of other agents."""
