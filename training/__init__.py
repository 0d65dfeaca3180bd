"""Makes the data that ships with `metier.selection`: `python -m training`. README.md here says what it needs."""

import os

# One thread: with several, sums are split by how many there are, and the same run would end a little differently.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
