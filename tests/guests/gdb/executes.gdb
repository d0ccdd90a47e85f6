# another program runs there, and nobody holds it up
break before
continue
#: Breakpoint 1, before
continue
#! Breakpoint 2
#status 6
