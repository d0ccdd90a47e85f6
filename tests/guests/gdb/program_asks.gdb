# while the program's own commands have all threads stop for a moment, no thread's signal or breakpoint is passed over
python
signals, hits = [], []
class Hit(gdb.Breakpoint):
    def stop(self):
        hits.append(int(gdb.parse_and_eval("n")))
        return False
hit = Hit("hit")
gdb.events.stop.connect(lambda event: signals.append(getattr(event, "stop_signal", "")))
for turn in range(200):
    if not gdb.selected_inferior().pid:
        break
    gdb.execute("continue", to_string=True)
print("signals", signals.count("SIGUSR1"), "hits", hits == list(range(100)))
end
#: signals 100 hits True
#status 100
