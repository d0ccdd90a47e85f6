break here
continue
print table
#: = \{1, 2, 3, 4\}
set var table[2] = 33
python gdb.selected_inferior().write_memory(int(gdb.parse_and_eval("(long)&text")), b"after }#$*\0")
print text
#: = "after .#.\*
set var *heap = 5
# code: the operand of mov $41, %eax
set var *(int *)((char *)answer + 5) = 42
print *(int *)((char *)answer + 5)
#: = 42
python
try:
    gdb.execute("print *(int *)8")
except gdb.MemoryError as error:
    print(error)
end
#: Cannot access memory at address 0x8
find &table, +sizeof(table), (int)33
#: table\+8
dump memory dumped.bin &table (char*)&table + 16
continue
#: exited normally
#out ^33 after .#\$\* 5 42$
#! Invalid
