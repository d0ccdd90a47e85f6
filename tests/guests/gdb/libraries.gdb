# the list by the server's own reading of the dynamic linker's; without the vdso, for which there is no file
#! linux-vdso
info sharedlibrary
#: 0x.* Yes .*/ld-linux
echo == at the start\n
#: == at the start
break look
continue
info sharedlibrary
#: /ld-linux
#: /libc\.so
echo == before\n
#: == before
continue
info sharedlibrary
#: /ld-linux
#: /libc\.so
#: 0x.* Yes .*/libm\.so
maint packet qXfer:libraries-svr4:read::0,3fff
#: received: .*<library-list-svr4 version="1\.0" main-lm="0x[0-9a-f]+"><library name="[^"]+" lm="0x.*/libm\.so\.6" lm="0x[0-9a-f]+" l_addr=.*</library-list-svr4>
maint packet qXfer:libraries-svr4:read:start=1;prev=0:0,3fff
#: received: .*<library-list-svr4 version="1\.0"></library-list-svr4>
maint packet qXfer:libraries-svr4:read:start=zz:0,3fff
#: received: "E16"
continue
info sharedlibrary
#: /libm\.so
#: /libm\.so
continue
echo == after\n
info sharedlibrary
#: == after
#: /ld-linux
#: /libc\.so
python print("left:", [o.filename for o in gdb.objfiles() if "libm" in o.filename])
#: left: \[\]
continue
#: exited with code 04
#status 4
