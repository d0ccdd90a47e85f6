# what gdb reads through the server: the program's mappings, files; it writes none
#before set sysroot /
break stop
continue
#: Breakpoint 1, stop
info proc
#: exe = '.*/files'
info proc mappings
#: r-xp +.*/files
#: r-xp +.*libc\.so\.6
#: rw-p +\[stack\]
#! interpose-rt
#! memfd
generate-core-file core.of.files
#: Saved corefile core.of.files
remote get /proc/self/cmdline cmdline.txt
shell test -s cmdline.txt && echo fetched
#: fetched
python
for command in ("remote put core.of.files evil", "remote delete cmdline.txt", "remote get /dev/null x"):
    try:
        gdb.execute(command)
    except gdb.error as error:
        print("refused:", error)
end
#: refused: .*Read-only file system
#: refused: .*Read-only file system
#: refused: .*Permission denied
print $_gdb_setting("sysroot")
#: "/"
info sharedlibrary
#: Yes .*/libc\.so\.6
shell ls evil x
#: cannot access 'evil'
detach
#! file transfer
