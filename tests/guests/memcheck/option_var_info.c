/* Variables by name: of a structure on the stack, of an array, of a block in another function's frame.
 * @options: --read-var-info=yes */
#include <stdlib.h>
#include <unistd.h>
struct outer {
    int first;
    struct {
        char name[6];
        short last;
    } in[3];
};
static struct outer global;
static void __attribute__((noinline)) send(const void *p, int n) { write(-1, p, n); }
int main(void) {
    struct outer local;
    int array[5];
    local.first = 1;
    int *volatile escaped = array;
    if (array[2])
        global.first++;
    int pair[2];
    pipe(pair);
    write(pair[1], &local.in[1].last, 2);
    write(pair[1], &array[3], 4);
    return 0;
}
