# many threads at one breakpoint: none is lost, none stopped twice for one turn
python hits = 0
break hit
commands
silent
python hits += 1
continue
end
continue
python print("hits", hits)
#: exited normally
#: hits 150
