# refused in a line; the program goes on
#program vforked
set follow-fork-mode child
python
try:
    gdb.execute("continue")
except gdb.error as error:
    print("refused:", error)
end
#: refused: .*this child is not followed by interpose: what it executes runs natively \(see --trace-children\)
