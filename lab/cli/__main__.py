"""`python -m lab.cli` is the `lab` command."""

from lab.cli import main

if __name__ == "__main__":
    main()
