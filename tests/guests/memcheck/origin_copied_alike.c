/* A copy between blocks that one place has allocated, as realloc makes them in a loop: what was copied there before, from
 * another place's block, says nothing any more; and what the source had from elsewhere comes along.
 * @options: --track-origins=yes */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 4096 };
static volatile int sum;

static char *one_of_many(void) { return malloc(SIZE); }
static char *another(void) { return malloc(SIZE); }

int main(void) {
    char *few[2], *other = another();
    for (int i = 0; i < 2; i++) few[i] = one_of_many();
    memcpy(few[0], other, SIZE);
    if (few[0][100]) sum++; /* another's */
    memcpy(few[0], few[1], SIZE);
    if (few[0][200]) sum++; /* one of many */
    memcpy(few[1] + 1000, other + 1000, 500);
    memcpy(few[0], few[1], SIZE);
    if (few[0][999]) sum++;  /* one of many */
    if (few[0][1200]) sum++; /* another's */
    if (few[0][1600]) sum++; /* one of many */
    char *grown = NULL;
    for (int i = 1; i < 40; i++) grown = realloc(grown, (size_t)i * 1000);
    if (grown[38500]) sum++;
    free(grown);
    free(other);
    free(few[0]);
    free(few[1]);
    return 0;
}
