"""The command `poolsize`, also as `python -m poolsize`."""

import gc


def main() -> None:
    """Run a command. The garbage collector skips the objects that imports make: searching them slows the start."""
    gc.disable()
    from poolsize.commands import main as run

    gc.freeze()
    gc.enable()
    run()


if __name__ == "__main__":
    main()
