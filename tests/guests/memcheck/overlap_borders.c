/* Copies that meet at their borders: neighbours are right, one byte in common is not.  With the lengths 0 and 1. */
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

void *(*volatile copy)(void *, const void *, size_t) = memcpy;
char *(*volatile string)(char *, const char *) = strcpy;
char *(*volatile counted)(char *, const char *, size_t) = strncpy;
char *(*volatile append)(char *, const char *) = strcat;
char *(*volatile append_counted)(char *, const char *, size_t) = strncat;

int main(void) {
    char b[100];
    memset(b, 'x', sizeof b);
    copy(b, b + 20, 20);      /* neighbours */
    copy(b + 20, b, 20);
    copy(b, b + 20, 21);      /* one byte in common */
    copy(b + 20, b, 21);
    copy(b, b, 5);            /* the same */
    copy(b, b, 0);
    copy(b + 1, b, 1);
    b[9] = 0;
    string(b + 10, b);        /* ten bytes with the zero: neighbours */
    memset(b, 'x', 60);
    b[10] = 0;
    string(b + 3, b + 10);    /* one byte, which is the zero */
    string(b, b + 1);         /* writes over what it has read */
    memset(b, 'x', 60);
    b[30] = 0;
    counted(b, b + 20, 20);
    counted(b, b + 20, 21);
    counted(b, b + 20, 10);
    memset(b, 'x', 60);
    b[23] = 0;
    counted(b, b + 20, 20);   /* zeros behind what was copied reach the border */
    b[23] = 0;
    counted(b, b + 20, 21);
    memset(b, 'x', 60);
    b[3] = 0, b[23] = 0;
    append(b, b + 20);        /* 3 + 3 + 1 bytes, behind 20: right */
    memset(b, 'x', 60);
    b[18] = 0, b[23] = 0;
    append(b, b + 20);        /* writes over what it reads */
    memset(b, 'x', 60);
    b[18] = 0, b[40] = 0;
    append_counted(b, b + 20, 1);
    append_counted(b, b + 18, 2);
    b[20] = 0;
    append_counted(b + 18, b + 10, 0); /* nothing is taken, from beside what is appended to */
    append_counted(b, b, 0);  /* nothing is taken, from inside */
    append_counted(b, b + 3, 0);
    stpcpy(b + 50, b + 50);
    wchar_t w[20];
    wmemset(w, L'a', 20);
    wmemcpy(w, w + 10, 10);
    w[19] = 0;
    wcscpy(w, w + 10);
    return 0;
}
