#include <stdlib.h>
int *where;
int main(void) {
    *where = 5;
    return *where;
}
