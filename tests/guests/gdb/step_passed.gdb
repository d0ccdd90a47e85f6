# a signal that is passed without a stop comes amid a step: that goes on over the handler
handle SIGALRM nostop noprint pass
break 15
continue
next
#: ^16
#! ^on \(n=
print ticks
#: = 1
continue
#: exited with code 013
#status 11
