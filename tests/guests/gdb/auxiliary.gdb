break f
continue
info auxv
#: AT_PAGESZ .*4096
#: AT_ENTRY
info inferiors
#: process
up
print argc
#: = 1
print *argv
#: auxiliary
print get("OWN")
#: "value"
info program
continue
#: exited normally
