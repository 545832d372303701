"""`python -m metamixup`, and `torchrun -m metamixup` for several processes."""

from metamixup.cli import main

main()
