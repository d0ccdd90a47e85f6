#include <stdio.h>
#include <stdlib.h>
int table[4] = {1, 2, 3, 4};
char text[32] = "before";
int answer(void) { return 41; }
void here(int *heap) {}
int main(void) {
    int *heap = malloc(sizeof *heap);
    answer();
    here(heap);
    printf("%d %s %d %d\n", table[2], text, *heap, answer());
    free(heap);
    return 0;
}
