"""`metier.lock`: the file, its verification, restoring from it, and the signatures of releases."""
