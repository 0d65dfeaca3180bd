"""Reads skills from git without a checkout: the program, its objects, remote refs and its errors."""
