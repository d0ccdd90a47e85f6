/* A string copied into a block one byte too small: strcpy writes its NUL behind it, strlen and printf read it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
    const char *text = "sixteen letters!";
    char *p = malloc(strlen(text));
    strcpy(p, text);
    size_t n = strlen(p);
    printf("%s %zu\n", p, n);
    free(p);
    return 0;
}
