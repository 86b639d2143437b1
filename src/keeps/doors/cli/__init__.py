"""The command line. One file for each family of commands; `main.py` joins them."""
