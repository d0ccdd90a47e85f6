"""``interpose --dap``: a server of the Debug Adapter Protocol, between an editor and gdb."""
