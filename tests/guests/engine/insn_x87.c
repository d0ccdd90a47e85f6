// flags: -no-pie
// modes: default single-step no-optimise memcheck tracking
/* The last x87 instruction: its address, opcode and operand as fxsave, fnstenv, fnsave and xsave show them. */
/* Switches to other processes lose these pointers on AMD's CPUs, unless an exception is pending. */
#define PROBE_AGAIN (probe_out[RDX] == 0)
#include "probes.h"

/* FOP, FIP and FDP of the image that is at DATA + 0x200 (RSI) into registers; FIP relative to 9. */
#define SHOW "movzwl 6(%rsi), %eax\nmov 8(%rsi), %rcx\nlea 9b(%rip), %rdi\nsub %rdi, %rcx\nmov 16(%rsi), %rdx\n"
#define AFTER(insn) "fninit\nfldl (%rbx)\n9: " insn "\nfxsave64 (%rsi)\n" SHOW "fninit"
#define AFTER32(insn) "fninit\nfldl (%rbx)\n9: " insn "\nfxsave (%rsi)\n" SHOW "fninit"
/* The same behind a block's end, so that another block stores it. */
#define LATER(insn) "fninit\nfldl (%rbx)\n9: " insn "\njmp 8f\n8: mov $1, %edi\n7: dec %edi\njnz 7b\nfxsave64 (%rsi)\n" SHOW "fninit"
#define ENV32(insn) "fninit\nfldl (%rbx)\n9: " insn "\nfnstenv (%rsi)\nfldenv (%rsi)\nmov 12(%rsi), %eax\nlea 9b(%rip), %rdi\nsub %edi, %eax\n" \
                    "mov 16(%rsi), %ecx\nmov 20(%rsi), %edx\nmov 24(%rsi), %r10d\nfninit"
#define ENV16(insn) "fninit\nfldl (%rbx)\n9: " insn "\nfnstenvs (%rsi)\nfldenvs (%rsi)\nmovzwl 6(%rsi), %eax\nlea 9b(%rip), %rdi\nsub %edi, %eax\nmovzwl %ax, %eax\n" \
                    "movzwl 8(%rsi), %ecx\nmovzwl 10(%rsi), %edx\nmovzwl 12(%rsi), %r10d\nfninit"
#define SAVE32(insn) "fninit\nfldl (%rbx)\n9: " insn "\nfnsave (%rsi)\nmov 12(%rsi), %eax\nlea 9b(%rip), %rdi\nsub %edi, %eax\n" \
                    "mov 16(%rsi), %ecx\nmov 20(%rsi), %edx\nmov 24(%rsi), %r10d\nfninit"
#define XSAVE(insn, how) "fninit\nfldl (%rbx)\n9: " insn "\nmov $3, %eax\nxor %edx, %edx\nlea 0x100(%rsi), %rsi\nmov $0x40, %ecx\n" \
                    "lea 512(%rsi), %rdi\nxor %eax, %eax\ncld\nrep stosb\nmov $3, %eax\n" how " (%rsi)\n" SHOW "fninit"

PROBE("register", AFTER("fadd %st(0), %st"))
PROBE("load", AFTER("fldl 8(%rbx)"))
PROBE("load 80", AFTER("fldt 16(%rbx)"))
PROBE("load, sib", AFTER("flds 8(%rbx,%rcx,4)"))
PROBE("load r12", AFTER("fildll 8(%r12)"))
PROBE("store", AFTER("fstpl 0x80(%rbx)"))
PROBE("rip-relative", AFTER("fldl 9b(%rip)"))
PROBE("absolute", AFTER("fldl 0x02000100"))
PROBE("gs", AFTER("fldl %gs:0x18"))
PROBE("gs base", AFTER("faddl %gs:0x18(%rcx,%rcx,2)"))
PROBE("address 32", AFTER("fldl 8(%ebx)"))
PROBE("address 32 wraps", AFTER("mov $0xffffffff00000000, %rdx\nor %rdx, %rbx\n9: fldl 8(%ebx)"))
PROBE("gs address 32", AFTER("fldl %gs:0x18(%ecx)"))
PROBE("prefixes", AFTER(".byte 0x3e, 0x2e\nfldl 8(%rbx)"))
PROBE("rex", AFTER("rex.w fldl 8(%rbx)"))
PROBE("control", AFTER("fnstcw (%rdi)"))
PROBE("load control", AFTER("fldcw (%r12)"))
PROBE("fnstsw", AFTER("fnstsw %ax"))
PROBE("fnop", AFTER("fnop"))
PROBE("fwait", AFTER("fwait"))
PROBE("fclex", AFTER("fnclex"))
PROBE("mmx", AFTER("movq %mm0, %mm1\nemms"))
PROBE("load fxsave", AFTER32("fldl 8(%rbx)"))
PROBE("gs fxsave", AFTER32("fldl %gs:0x18"))
PROBE("later register", LATER("fsqrt"))
PROBE("later gs", LATER("fldl %gs:0x18"))
PROBE("later rip", LATER("fldl 9b(%rip)"))
PROBE("env32", ENV32("fldl 8(%rbx)"))
PROBE("env32 gs", ENV32("fldl %gs:0x18"))
PROBE("env32 register", ENV32("fxch"))
PROBE("env16", ENV16("fldl 8(%rbx)"))
PROBE("env16 gs", ENV16("fldl %gs:0x18"))
PROBE("fnsave", SAVE32("fldl 8(%rbx)"))
PROBE("fnsave gs", SAVE32("fldl %gs:0x18"))
PROBE("xsave", XSAVE("fldl 8(%rbx)", "xsave"))
PROBE("xsave64", XSAVE("fldl 8(%rbx)", "xsave64"))
PROBE("xsave64 gs", XSAVE("fldl %gs:0x18", "xsave64"))
PROBE("xsavec64 gs", XSAVE("fldl %gs:0x18", "xsavec64"))
PROBE("xsaveopt64 gs", XSAVE("fldl %gs:0x18", "xsaveopt64"))
PROBE("invalid", AFTER("fldz\nfldz\n9: fdivrp"))
PROBE("unmasked", "fninit\nmovw $0x0360, (%rbx)\nfldcw (%rbx)\nfldz\nfldz\n9: fdivrp\nnop\nfwait")
PROBE("unmasked memory", "fninit\nmovw $0x037b, (%rbx)\nfldcw (%rbx)\nfld1\nmovq $0, (%rbx)\n9: fdivl %gs:0x100\nnop\nfld1")
PROBE("unmasked overflow", "fninit\nmovw $0x0372, (%rbx)\nfldcw (%rbx)\nfldz\nfstp %st\n9: fadd %st(1), %st\nfnstsw %ax\nfld1")
#define PENDING(insn) "fninit\nmovw $0x037b, (%rdi)\nfldcw (%rdi)\nfld1\n9: " insn "\nfxsave64 (%rsi)\n" SHOW "fninit"
PROBE("pending", "movq $0, 8(%rbx)\n" PENDING("fdivl 8(%rbx)"))
PROBE("pending gs", "movq $0, 8(%rbx)\n" PENDING("fdivl %gs:0x108"))
PROBE("pending rip", PENDING("fidivl 1f(%rip)\njmp 2f\n1: .long 0\n2:"))
PROBE("pending register", "fldz\n" PENDING("fldz\n9: fdivrp"))
PROBE("simd exception", "movl $0x1f00, (%rbx)\nldmxcsr (%rbx)\nxorps %xmm0, %xmm0\nmovaps %xmm0, %xmm1\ndivps %xmm1, %xmm0")
PROBE("simd denormal", "movl $0x1e80, (%rbx)\nldmxcsr (%rbx)\nmovl $1, (%rbx)\nmovss (%rbx), %xmm0\naddss %xmm0, %xmm0")
PROBE("simd overflow memory", "movl $0x1b80, (%rbx)\nldmxcsr (%rbx)\nmovl $0x7f000000, (%rbx)\nmovss (%rbx), %xmm0\nmulss %gs:0x100, %xmm0")
PROBE("mxcsr modes", "movl $0xffc0, (%rbx)\nldmxcsr (%rbx)\nmovl $1, (%rdi)\nmovss (%rdi), %xmm0\naddss %xmm0, %xmm0\nmovd %xmm0, %eax\nstmxcsr (%rbx)\nmov (%rbx), %ecx\nmovl $0x1f80, (%rbx)\nldmxcsr (%rbx)")

int main(void) { return run_probes(); }
