"""``python -m isthmus``: the same as the command ``isthmus``."""

from isthmus.cli import main

if __name__ == "__main__":
    main()
