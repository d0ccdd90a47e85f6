/* A library with two versions of a function. */
__asm__(".symver old_answer, answer@V1\n.symver new_answer, answer@@V2");
__attribute__((noipa)) int old_answer(void) { return 1; }
__attribute__((noipa)) int new_answer(void) { return 2; }
__attribute__((noipa)) int call_old(void) { return old_answer(); }
