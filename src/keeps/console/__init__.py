"""The console: `/ui` in `keeps serve`. Pages over the same operations as the API, so what the API refuses, they do.

`door.py` lets browsers in (cookie, headers, errors as pages), `mount.py` serves the pages of `pages/`, one module for
each entry of the menu.
"""
