"""Phrases, sentence rules, hosts, packages and secret places that the rules know. Names only; nothing is looked up."""
