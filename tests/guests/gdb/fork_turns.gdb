# processes that are always back at a breakpoint which stops none of them: no hit is lost or told twice, nor is any
# of them interrupted for the user's eyes
set detach-on-fork off
set schedule-multiple on
python
class Hit(gdb.Breakpoint):
    hits = {}
    def stop(self):
        self.hits.setdefault(gdb.selected_inferior().num, []).append(int(gdb.parse_and_eval("n")))
        return False
hit = Hit("hit")
for turn in range(20):
    alive = [inferior for inferior in gdb.inferiors() if inferior.pid]
    if not alive:
        break
    if gdb.selected_inferior().pid == 0:
        gdb.execute(f"inferior {alive[0].num}")
    gdb.execute("continue")
print("hits", {number: hits == list(range(25)) for number, hits in sorted(hit.hits.items())}, "ends", turn)
end
#: hits \{1: True, 2: True, 3: True\} ends 3
#! SIGINT
