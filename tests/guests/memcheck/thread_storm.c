/* Eight threads, each with errors of its own, one after the other.  @build: -pthread
 * @options: --leak-check=full */
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static long next;

static void await(long number) {
    pthread_mutex_lock(&turn);
    while (next != number)
        pthread_cond_wait(&changed, &turn);
    pthread_mutex_unlock(&turn);
}

static void *run(void *argument) {
    long number = (long)argument;
    await(number);
    char *p = malloc(number + 1), c;
    p[number + 1] = 1; /* behind the block */
    if (p[0])          /* undefined */
        c = 1;
    if (number % 2)
        free(p);
    if (number % 4 == 1)
        p[0] = 1; /* freed */
    pthread_mutex_lock(&turn);
    next++;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&turn);
    await(9); /* all live at once, so that they have numbers of their own */
    return 0;
}

int main(void) {
    pthread_t t[8];
    for (long i = 0; i < 8; i++)
        pthread_create(&t[i], 0, run, (void *)i);
    await(8);
    pthread_mutex_lock(&turn);
    next++;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&turn);
    for (int i = 0; i < 8; i++)
        pthread_join(t[i], 0);
    return 0;
}
