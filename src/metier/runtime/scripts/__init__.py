"""Scripts of skills: their command lines read as JSON schemas, their interpreters, and confined runs."""
