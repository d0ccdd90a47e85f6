# of threads that are always back at a breakpoint before gdb goes on, each has its turn
tbreak begin
continue
python
class Hit(gdb.Breakpoint):
    turns = []
    def stop(self):
        self.turns.append(gdb.selected_thread().num)
        return len(self.turns) == 360
hit = Hit("hit")
end
continue
python print("threads", len(set(hit.turns)), "fewest", min(hit.turns.count(n) for n in range(2, 14)) >= 5)
#: threads 12 fewest True
delete
set var over = 1
continue
#: exited normally
