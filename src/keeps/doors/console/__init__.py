"""The console: `/ui` in `keeps serve`. Its pages use the operations of the API, with the same access checks.

`door.py` signs browsers in (cookie, headers, errors as pages), `mount.py` serves the pages of `pages/`, one module for
each entry of the menu.
"""
