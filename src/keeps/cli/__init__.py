"""The command line. One file a family of commands; `main.py` joins them."""
