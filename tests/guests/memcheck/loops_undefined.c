/* A loop bounded by an undefined number is one error each time round; with -O1.  @build: -O1 */
#include <stdlib.h>
int main(void) {
    int *p = malloc(16);
    volatile int sum = 0;
    p[0] = 3;
    for (int i = 0; i < p[0]; i++)
        sum += i;
    int many = p[1] & 3;
    for (int i = 0; i < many + 2 && i < 4; i++)
        sum += i;
    while (p[2]-- > 0 && sum < 20)
        sum++;
    free(p);
    return 0;
}
