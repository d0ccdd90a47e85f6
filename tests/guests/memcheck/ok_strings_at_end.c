/* No error: string functions on strings that end with their block. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <wchar.h>

static char *at_end(const char *s) { return strcpy(malloc(strlen(s) + 1), s); }

int main(void) {
    int bad = 0;
    for (int n = 0; n < 40; n++) {
        char text[64];
        memset(text, 'a', sizeof text);
        text[n] = 0;
        char *p = at_end(text), *q = at_end(text);
        bad += strlen(p) != (size_t)n;
        bad += strcmp(p, q) != 0;
        bad += strncmp(p, q, 100) != 0;
        bad += strcasecmp(p, q) != 0;
        bad += memcmp(p, q, (size_t)n + 1) != 0;
        bad += memchr(p, 0, (size_t)n + 1) != p + n;
        bad += strchr(p, 'b') != NULL;
        bad += strrchr(p, 'b') != NULL;
        bad += strspn(p, "ab") != (size_t)n;
        bad += strcspn(p, "xyz") != (size_t)n;
        bad += strpbrk(p, "xyz") != NULL;
        bad += strstr(p, "aab") != NULL;
        bad += memmem(p, (size_t)n + 1, "aab", 3) != NULL;
        bad += strcoll(p, q) != 0;
        char *d = strdup(p), *save = NULL;
        bad += n && strtok_r(d, "b", &save) != d;
        free(d);
        free(p);
        free(q);
        wchar_t wide[64];
        wmemset(wide, L'w', 64);
        wide[n] = 0;
        wchar_t *w = wcsdup(wide);
        bad += wcslen(w) != (size_t)n;
        bad += wcscmp(w, wide) != 0;
        bad += wcschr(w, L'x') != NULL;
        free(w);
    }
    char *number = at_end("12345.5 77 text");
    int a;
    double d;
    char s[8];
    bad += sscanf(number, "%lf %d %7s", &d, &a, s) != 3 || a != 77 || d != 12345.5;
    bad += strtol(number, NULL, 10) != 12345;
    free(number);
    return bad;
}
