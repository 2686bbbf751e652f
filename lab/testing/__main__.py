"""`python -m lab.testing --minutes 10`: try the lab's own store for longer than the tests do."""

from lab.testing.machine import main

if __name__ == "__main__":
    main()
