"""The viewer of datagrind's logs."""
