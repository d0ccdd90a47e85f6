// signal: SIGFPE
int main(int argc, char **argv) { (void)argv; volatile int z = argc - 1; return 5 / z; }
