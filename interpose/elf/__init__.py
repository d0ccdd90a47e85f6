"""ELF images, their symbols, and the way from an address to function, file and line."""
