#!/bin/sh
# exit: 6
echo "script $0 has $# arguments" | sed "s,/.*/,,"
for i in 1 2 3; do echo "line $i" | tr a-z A-Z | cat; done
(exit 3); echo "status $?"
x=$(echo inner); echo "got $x"
trap "echo trapped" USR1; kill -USR1 $$
exit 6
