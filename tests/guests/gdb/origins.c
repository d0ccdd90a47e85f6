#include <stdlib.h>
int use(int a, int b, int c, int d) { return a & b & c & d & 0; }
int main(void) {
    int *first = malloc(8), *second = malloc(8);
    return use(first[0], second[0], first[1], 7);
}
