"""Locust with the options of a sweep: `python -m poolsize.locust -f shop.py --headless --application shop.toml`.

A locustfile that drives an application has nothing of poolsize in it, so Locust alone would not know these options.
"""

from locust import main

from poolsize.locust.checked_text import checked
from poolsize.locust.session import register

if __name__ == "__main__":
    register()
    # Locust has no option for this, and would execute whatever text the file has by then.
    main.load_locustfile = checked(main.load_locustfile)  # type: ignore[attr-defined,assignment]  # not for others
    main.main()
