"""What gdb needs to show a program that runs here."""
