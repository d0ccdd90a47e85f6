# many threads at one breakpoint: none is lost, none stopped twice for one turn
break hit
python
for _ in range(150):
    gdb.execute("continue", to_string=True)
end
python print("hits", gdb.breakpoints()[0].hit_count)
#: hits 150
continue
#: exited normally
