"""Locust with the options of a sweep: `python -m poolsize.locust -f shop.py --headless --application shop.toml`.

A locustfile that drives an application has nothing of poolsize in it, so Locust alone would not know these options.
"""

from locust.main import main

from poolsize.locust.session import register

if __name__ == "__main__":
    register()
    main()
