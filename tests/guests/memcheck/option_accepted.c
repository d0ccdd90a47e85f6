/* Options that change nothing here are taken all the same, beside errors.
 * @options: -q --fair-sched=try --max-threads=20 --num-transtab-sectors=8 --avg-transtab-entry-size=100
 * @options: --aspace-minaddr=0x10000 --valgrind-stacksize=2097152 --show-emwarns=yes --unw-stack-scan-thresh=3 --unw-stack-scan-frames=4
 * @options: --sim-hints=fuse-compatible,lax-doors --kernel-variant=bproc --smc-check=all --vgdb-poll=100 --vgdb-shadow-registers=yes
 * @options: --vgdb-prefix=./vgdb-pipe --allow-mismatched-debuginfo=yes --extra-debuginfo-path=/nonexistent --dsymutil=no
 * @options: --vex-iropt-level=1 --vex-iropt-unroll-thresh=10 --vex-iropt-verbosity=0 --vex-guest-max-insns=20 --vex-guest-chase=no
 * @options: --vex-iropt-register-updates=allregs-at-mem-access --px-default=unwindregs-at-mem-access --px-file-backed=allregs-at-mem-access
 * @options: --vex-regalloc-version=3 --core-redzone-size=8 --sanity-level=2 --profile-heap=no --trace-flags=00000000
 * @options: --trace-notbelow=99999999 --trace-notabove=0 --workaround-gcc296-bugs=no --input-fd=0
 * @options: --main-stacksize=2000000 --dump-error=0 --trace-symtab=no --trace-symtab-patt=* --trace-cfi=no --stats=no --profile-interval=0 --trace-signals=no
 * @options: --resync-filter=no --debuginfo-server=127.0.0.1:1 --progress-interval=0 --wait-for-gdb=no
 * @options: --soname-synonyms=somalloc=libnothing.so --require-text-symbol=:*libc.so*:malloc --trace-syscalls=no
 * @ours: --launched-with-multi --profile-flags=00000000 --debug-dump=line --scheduling-quantum=5000 --enable-debuginfod=no --vex-iropt-fold-expr=no --max-guard-pages=20 */
#include <stdlib.h>
int main(void) {
    char *p = malloc(3);
    p[3] = 1;
    free(p);
    return 0;
}
