// Runs until it is killed.
volatile long array[1024];

int main(void) {
    for (;;)
        for (long i = 0; i < 1024; i++) array[i]++;
}
