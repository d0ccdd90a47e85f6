/* Ways in which code is made change nothing of a report.
 * @ours: --tiny-cache=yes --chaining=no --optimise=no --cleanup=no --evict=500 --far-images=yes --random-registers=3 --cache=no
 * @ours: --fsgsbase=yes --vdso=no --perf-map=no --delays=seed=1 --instrument=yes
 * @options: --leak-check=full */
#include <stdlib.h>
#include <string.h>
#include <time.h>
int main(void) {
    char *p = malloc(10), text[20];
    volatile int sum = (int)time(0) & 0;
    strcpy(text, "twelve chars");
    memcpy(p, text, 11);
    for (int i = 0; i < 300; i++)
        sum += p[i % 12];
    if (p[4] == text[15]) /* undefined */
        sum++;
    p = 0;
    return 0;
}
