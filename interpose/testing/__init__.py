"""What the pytest plugin (`interpose/pytest_plugin.py`) is made of; loaded by ``--interpose`` only."""
