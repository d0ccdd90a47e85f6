#include <stdio.h>
int total;
int add(int n) {
    total += n;
    return total;
}
int main(void) {
    for (int i = 1; i <= 5; i++) add(i);
    printf("total %d\n", total);
    return 7;
}
