/* A null pointer is read: an invalid read, then death by SIGSEGV. */
#include <stddef.h>

struct node { struct node *next; long value; };

static long value_of(volatile struct node *n) { return n->value; }

int main(void) { return (int)value_of(NULL); }
