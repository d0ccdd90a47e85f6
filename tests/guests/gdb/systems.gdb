# into the shell of system()
#options --vgdb-stop-at=startup --trace-children=yes
set follow-fork-mode child
catch exec
continue
#: hit Catchpoint 1 \(exec'd .*sh\)
info sharedlibrary
continue
#: Inferior 2 .* exited with code 05
#status 6
