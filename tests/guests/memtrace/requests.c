/* Client requests, which are instructions that do nothing on a CPU of its own. */
#include <interpose/interpose.h>
#include <stdio.h>

int main(void) {
    int seen = 0;
    for (int i = 0; i < 100; i++) seen += RUNNING_ON_INTERPOSE != 0;
    printf("%d\n", seen);
    return 0;
}
