/* No error: everyday library functions. */
#define _GNU_SOURCE
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int order(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

int main(void) {
    int v[500], bad = 0;
    for (int i = 0; i < 500; i++)
        v[i] = (i * 7919) % 500;
    qsort(v, 500, sizeof v[0], order);
    for (int i = 0; i < 500; i++)
        bad += v[i] != i;
    int key = 77;
    bad += bsearch(&key, v, 500, sizeof v[0], order) == NULL;
    setlocale(LC_ALL, "C");
    bad += getenv("NO_SUCH_VARIABLE") != NULL || !getenv("PATH");
    char *line = NULL, *text = NULL;
    size_t room = 0;
    FILE *f = tmpfile();
    fprintf(f, "%s %d %5.2f\nsecond line\n", "first", 12, 3.25);
    rewind(f);
    bad += getline(&line, &room, f) != 15;
    bad += fgets(line, (int)room, f) == NULL;
    fclose(f);
    bad += asprintf(&text, "%*d|%-8s|%x", 6, 42, "left", 255u) != 18;
    time_t t = 86400;
    struct tm tm;
    gmtime_r(&t, &tm);
    char when[40];
    bad += strftime(when, sizeof when, "%Y-%m-%d", &tm) != 10 || strcmp(when, "1970-01-02") != 0;
    free(line);
    free(text);
    printf("%d\n", bad);
    return bad;
}
