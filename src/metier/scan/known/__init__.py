"""What everybody knows of the world outside a skill: hosts, secrets, packages. Names only; nothing is looked up."""
