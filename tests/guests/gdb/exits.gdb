break f
continue
python
try:
    gdb.execute("call (void)exit(11)")
except gdb.error as error:
    print("over:", error)
end
#: exited with code 013
#status 11
