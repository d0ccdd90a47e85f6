/* A block freed by a callee is used by its caller, over several calls. */
#include <stdlib.h>
#include <string.h>

struct buffer { char *text; size_t n; };

static void grow(struct buffer *b) {
    char *more = malloc(b->n * 2);
    memcpy(more, b->text, b->n);
    free(b->text);
    b->text = more;
    b->n *= 2;
}
static char *first(struct buffer *b) { return b->text; }

int main(void) {
    struct buffer b = {calloc(1, 8), 8};
    char *old = first(&b);
    grow(&b);
    memset(old, 1, 8);
    free(b.text);
    return 0;
}
