/* String functions on strings that end with their page, the next one being unmapped: no error; and one byte too far.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>

#define PAGE 4096

int main(void) {
    char *map = mmap(0, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(map + PAGE, PAGE);
    volatile unsigned long sum = 0;
    for (int n = 1; n < 40; n++) {
        char *s = map + PAGE - n, *t;
        memset(s, 'a', n - 1);
        s[n - 1] = 0;
        t = strdup(s);
        sum += strlen(s) + strnlen(s, 1000) + (strchr(s, 0) - s) + (strrchr(s, 'a') == 0) + strspn(s, "a") +
               strcspn(s, "b") + (strstr(s, "b") == 0) + strcmp(s, t) + strncmp(s, t, 1000) + strcasecmp(s, t) +
               memcmp(s, t, n) + (memchr(s, 0, 1000) != 0) + ((char *)rawmemchr(s, 0) - s) +
               (strpbrk(s, "bc") == 0) + (strcasestr(s, "Q") == 0) + (memrchr(s, 'q', n) == 0);
        stpcpy(t, s);
        strcpy(t, s);
        strncpy(t, s, n);
        free(t);
    }
    char *end = map + PAGE - 8;
    memset(end, 'b', 8);
    char out[16];
    memset(out, 0, sizeof out);
    sum += strnlen(end, 8) + (memchr(end, 'q', 8) == 0) + strncmp(end, "bbbbbbbb", 8);
    strncpy(out, end, 8);
    strncat(out, end, 8);
    return 0;
}
