"""Skills in the formats that other programs read: archives, plugins, a static site, a section of AGENTS.md."""
