"""Fetches skills as values: folders, archives, web addresses, registries and git. Writes nothing but the cache."""
