"""The command `poolsize`, also as `python -m poolsize`."""

import gc


def main() -> None:
    """Run a command. The collector of garbage skips what every command imports, which takes a part of the start."""
    gc.disable()
    from poolsize.commands import main as run

    gc.freeze()
    gc.enable()
    run()


if __name__ == "__main__":
    main()
