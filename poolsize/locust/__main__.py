"""Locust with the options of a sweep: `python -m poolsize.locust -f insert.py --headless`."""

from poolsize.locust.session import OF_DATABASE, main

if __name__ == "__main__":
    main(OF_DATABASE)
