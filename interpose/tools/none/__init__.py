"""The tool that adds nothing: the price of the engine alone, and its test bed."""
