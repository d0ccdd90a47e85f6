/* The dynamic linker refuses the program: nothing in the libraries can be called at the end, its status stays.
 * @build: -fuse-ld=lld -Wl,--pack-dyn-relocs=relr */
static int zero[10];
static int *const table[] = {&zero[1], &zero[2], &zero[9]};
int main(void) { return *table[1]; }
