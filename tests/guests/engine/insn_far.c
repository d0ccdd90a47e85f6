// flags: -no-pie
// options: --vex-iropt-register-updates=allregs-at-mem-access
// modes: default single-step no-optimise evict far-images memcheck tracking
/* Far jumps, calls and returns, iret, segment registers: effects, and the faults of selectors that are none. */
#include "probes.h"

#include <asm/ldt.h>

/* The far pointer is at DATA + 0x100 (RBX): offset of the label, then the selector. */
#define FAR32(sel) "lea 9f(%rip), %rax\nmov %eax, (%rbx)\nmovl $" #sel ", 4(%rbx)\nmovl $" #sel ", 8(%rbx)\n"
#define LAND "nop\nnop\n9: add $1, %rcx"

PROBE("ljmp 32", FAR32(0x33) "ljmp *(%rbx)\n" LAND)
PROBE("ljmp 64", FAR32(0x33) "rex.w ljmp *(%rbx)\n" LAND)
PROBE("ljmp 64, whole", "lea 9f(%rip), %rax\nmov %rax, (%rbx)\nmovl $0x33, 8(%rbx)\nrex.w ljmp *(%rbx)\n" LAND)
PROBE("ljmp 16", "movl $0x330030, (%rbx)\ndata16 ljmp *(%rbx)\n" LAND)
PROBE("ljmp rpl 0", FAR32(0x30) "ljmp *(%rbx)\n" LAND)
PROBE("ljmp null", FAR32(0) "ljmp *(%rbx)\n" LAND)
PROBE("ljmp null 3", FAR32(3) "ljmp *(%rbx)\n" LAND)
PROBE("ljmp kernel code", FAR32(0x10) "ljmp *(%rbx)\n" LAND)
PROBE("ljmp kernel 32", FAR32(0x8) "ljmp *(%rbx)\n" LAND)
PROBE("ljmp data", FAR32(0x2b) "ljmp *(%rbx)\n" LAND)
PROBE("ljmp tss", FAR32(0x43) "ljmp *(%rbx)\n" LAND)
PROBE("ljmp tls", FAR32(0x63) "ljmp *(%rbx)\n" LAND)
PROBE("ljmp cpu number", FAR32(0x7b) "ljmp *(%rbx)\n" LAND)
PROBE("ljmp beyond", FAR32(0xff3) "ljmp *(%rbx)\n" LAND)
PROBE("ljmp ldt data", FAR32(0x07) "ljmp *(%rbx)\n" LAND)
PROBE("ljmp ldt absent data", FAR32(0x0f) "ljmp *(%rbx)\n" LAND)
PROBE("ljmp ldt absent code", FAR32(0x1f) "ljmp *(%rbx)\n" LAND)
PROBE("ljmp ldt empty", FAR32(0x27) "ljmp *(%rbx)\n" LAND)
PROBE("ljmp ldt beyond", FAR32(0xffff) "ljmp *(%rbx)\n" LAND)
PROBE("ljmp hole", "ljmp *(%r9)")
PROBE("ljmp crossing", "ljmp *(%r11)")
PROBE("ljmp noncanonical memory", "ljmp *(%r8)")
PROBE("ljmp gs", FAR32(0x33) "ljmp *%gs:0x100\n" LAND)
PROBE("ljmp index", FAR32(0x33) "mov $0x40, %edx\nljmp *-0x100(%rbx,%rdx,4)\n" LAND)
PROBE("ljmp address 32", FAR32(0x33) "mov $0xffffffff00000000, %rdx\nor %rbx, %rdx\nljmp *(%edx)\n" LAND)
PROBE("ljmp to hole", "movl $0x02030008, (%rbx)\nmovl $0x33, 4(%rbx)\nljmp *(%rbx)")
PROBE("ljmp register", ".byte 0xff, 0xe8")
PROBE("ljmp lock", ".byte 0xf0, 0xff, 0x2b")
PROBE("lcall 32", FAR32(0x33) "lcall *(%rbx)\n" LAND)
PROBE("lcall 64", FAR32(0x33) "rex.w lcall *(%rbx)\n" LAND)
PROBE("lcall 16", "movl $0x330030, (%rbx)\ndata16 lcall *(%rbx)\n" LAND)
PROBE("lcall and lret", FAR32(0x33) "lcall *(%rbx)\nadd $16, %rcx\njmp 8f\n9: add $1, %rcx\nlretl\n8: nop")
PROBE("lcall rpl 1", FAR32(0x31) "lcall *(%rbx)\n" LAND)
PROBE("lcall null", FAR32(0) "lcall *(%rbx)\n" LAND)
PROBE("lcall data", FAR32(0x2b) "lcall *(%rbx)\n" LAND)
PROBE("lcall hole stack", FAR32(0x33) "mov %r9, %rsp\nlcall *(%rbx)\n" LAND)
PROBE("lcall read-only stack", FAR32(0x33) "mov %r10, %rsp\nlcall *(%rbx)\n" LAND)
PROBE("lcall noncanonical stack", FAR32(0x33) "mov %r8, %rsp\nlcall *(%rbx)\n" LAND)
PROBE("lcall by rsp", "lea 9f(%rip), %rax\nsub $16, %rsp\nmov %eax, (%rsp)\nmovl $0x33, 4(%rsp)\nlcall *(%rsp)\n" LAND)
PROBE("lret", "lea 9f(%rip), %rax\nsub $8, %rsp\nmov %eax, (%rsp)\nmovl $0x33, 4(%rsp)\nlretl\n" LAND)
PROBE("lretq", "lea 9f(%rip), %rax\npush $0x33\npush %rax\nlretq\n" LAND)
PROBE("lretw", "movl $0x330030, (%rsp)\nlretw\n" LAND)
PROBE("lretq 24", "lea 9f(%rip), %rax\npush $0x33\npush %rax\nlretq $24\n" LAND)
PROBE("lretq rpl 0", "lea 9f(%rip), %rax\npush $0x30\npush %rax\nlretq\n" LAND)
PROBE("lretq null", "lea 9f(%rip), %rax\npush $0\npush %rax\nlretq\n" LAND)
PROBE("lretq null 3", "lea 9f(%rip), %rax\npush $3\npush %rax\nlretq\n" LAND)
PROBE("lretq data", "lea 9f(%rip), %rax\npush $0x2b\npush %rax\nlretq\n" LAND)
PROBE("lretq kernel", "lea 9f(%rip), %rax\npush $0x10\npush %rax\nlretq\n" LAND)
PROBE("lretq absent code", "lea 9f(%rip), %rax\npush $0x1f\npush %rax\nlretq\n" LAND)
PROBE("lretq absent data", "lea 9f(%rip), %rax\npush $0x0f\npush %rax\nlretq\n" LAND)
PROBE("lretq noncanonical", "push $0x33\npush %r8\nlretq\n" LAND)
PROBE("lretq hole", "mov %r9, %rsp\nlretq\n" LAND)
PROBE("lret, half a selector", "lea -6(%r11), %rsp\nmovl $0x3000000, (%rsp)\nlret")
PROBE("lret, selector crossing", "lea -2(%r11), %rsp\nlret")
PROBE("lretq crossing", "lea -8(%r11), %rsp\nlretq\n" LAND)
PROBE("lretq noncanonical stack", "mov %r8, %rsp\nlretq\n" LAND)
#define IRET(ss, cs, flags, ip) "mov %rsp, %rdx\npush $" #ss "\npush %rdx\npush $" #flags "\npush $" #cs "\n" ip
#define HERE "lea 9f(%rip), %rax\npush %rax\niretq\n" LAND
PROBE("iretq", IRET(0x2b, 0x33, 0xad7, HERE))
PROBE("iretq flags", IRET(0x2b, 0x33, 0x202, HERE))
PROBE("iretq all flags", IRET(0x2b, 0x33, 0x207ed7, HERE) "\npushfq\npop %rax\npush $0x202\npopfq")
PROBE("iretq bad cs", IRET(0x2b, 0x2b, 0x202, HERE))
PROBE("iretq rpl", IRET(0x2b, 0x30, 0x202, HERE))
PROBE("iretq null cs", IRET(0x2b, 0, 0x202, HERE))
PROBE("iretq bad ss", IRET(0x33, 0x33, 0x202, HERE))
PROBE("iretq null ss", IRET(0, 0x33, 0x202, HERE))
PROBE("iretq ss rpl", IRET(0x28, 0x33, 0x202, HERE))
PROBE("iretq absent ss", IRET(0x0f, 0x33, 0x202, HERE))
PROBE("iretq noncanonical", IRET(0x2b, 0x33, 0x202, "push %r8\niretq\n" LAND))
PROBE("iretq nested", "push $0x4202\npopfq\n" IRET(0x2b, 0x33, 0x202, HERE))
PROBE("iretl, flags crossing", "lea -6(%r11), %rsp\niretl")
PROBE("iretq, flags crossing", "lea -16(%r11), %rsp\niretq")
PROBE("iretq, no stack", "lea -21(%r11), %rsp\nmovq $0x33, 8(%rsp)\niretq")
PROBE("iretq, bad selector, no stack", "lea -21(%r11), %rsp\nmovq $0x1230, 8(%rsp)\niretq")
PROBE("pop gs, two bytes", "lea 1(%r11), %rsp\nmovw $0, (%rsp)\npop %gs")
PROBE("iretq hole", "mov %r9, %rsp\niretq")
PROBE("iretl", "lea 9f(%rip), %rax\nmov %rsp, %rdx\nsub $20, %rsp\nmov %eax, (%rsp)\nmovl $0x33, 4(%rsp)\n"
      "movl $0x247, 8(%rsp)\nmov %edx, 12(%rsp)\nmovl $0x2b, 16(%rsp)\niretl\n" LAND)
PROBE("mov null to fs", "xor %eax, %eax\nmov %eax, %fs\nmov %fs, %ecx")
PROBE("mov 3 to gs", "mov $3, %eax\nmov %eax, %gs\nmov %gs, %ecx\nrdgsbase %rdx\nxor %eax, %eax\nmov %eax, %gs")
PROBE("mov data to gs", "wrgsbase %rbx\nmov $0x2b, %eax\nmov %eax, %gs\nmov %gs, %ecx\nrdgsbase %rdx\nxor %eax, %eax\nmov %eax, %gs")
PROBE("mov rpl 0 to gs", "mov $0x28, %eax\nmov %eax, %gs\nmov %gs, %rcx\nrdgsbase %rdx\nxor %eax, %eax\nmov %eax, %gs")
PROBE("mov code to gs", "mov $0x33, %eax\nmov %eax, %gs\nmov %gs, %cx\nrdgsbase %rdx\nxor %eax, %eax\nmov %eax, %gs")
PROBE("mov ldt to gs", "mov $0x7, %eax\nmov %eax, %gs\nmov %gs, %cx\nrdgsbase %rdx\nmov %gs:8, %rdi\nxor %eax, %eax\nmov %eax, %gs")
PROBE("mov ldt to fs", "mov $0x7, %eax\nmov %eax, %fs\nmov %fs, (%rbx)\nrdfsbase %rdx\nmov %fs:8, %rdi\nxor %eax, %eax\nmov %eax, %fs")
PROBE("mov absent to fs", "mov $0xf, %eax\nmov %eax, %fs")
PROBE("mov kernel to fs", "mov $0x18, %eax\nmov %eax, %fs")
PROBE("mov beyond to gs", "mov $0xfffb, %eax\nmov %eax, %gs")
PROBE("mov tss to gs", "mov $0x40, %eax\nmov %eax, %gs")
PROBE("mov memory to gs", "movl $0x2b, (%rbx)\nmov (%rbx), %gs\nmov %gs, %ecx\nxor %eax, %eax\nmov %eax, %gs")
PROBE("mov hole to gs", "mov (%r9), %gs")
PROBE("mov noncanonical to gs", "mov (%r8), %gs")
PROBE("mov fs to memory", "mov %fs, (%rbx)")
PROBE("mov gs to hole", "mov %gs, (%r9)")
PROBE("mov gs to read-only", "mov %gs, (%r10)")
PROBE("mov fs to register", "mov %fs, %eax\nmov %fs, %cx\nmov %fs, %rdx")
PROBE("push pop fs", "push %fs\npop %rax\npush $0\npop %fs")
PROBE("push pop gs", "mov $0x2b, %eax\nmov %eax, %gs\npush %gs\nxor %eax, %eax\nmov %eax, %gs\npop %gs\nmov %gs, %ecx\nmov %eax, %gs")
PROBE("pushw popw gs", "mov $0x2b, %eax\nmov %eax, %gs\npushw %gs\nxor %eax, %eax\nmov %eax, %gs\npopw %gs\nmov %gs, %ecx\nmov %eax, %gs")
PROBE("pop bad to gs", "push $0x10\npop %gs")
PROBE("push gs hole", "mov %r9, %rsp\npush %gs")
PROBE("pop gs hole", "mov %r9, %rsp\npop %gs")
PROBE("pop gs noncanonical", "mov %r8, %rsp\npop %gs")
PROBE("lgs", "mov %rdx, (%rbx)\nmovl $0x2b, 4(%rbx)\nmovl $0x2b, 8(%rbx)\nlgs (%rbx), %ecx\nmov %gs, %esi\nxor %eax, %eax\nmov %eax, %gs")
PROBE("lgs 64", "mov %rdx, (%rbx)\nmovl $0x2b, 4(%rbx)\nmovl $0x2b, 8(%rbx)\n.byte 0x48, 0x0f, 0xb5, 0x0b\nmov %gs, %esi\nxor %eax, %eax\nmov %eax, %gs")
PROBE("lgs 16", "mov %rdx, (%rbx)\nmovl $0x2b, 2(%rbx)\nlgs (%rbx), %cx\nmov %gs, %esi\nxor %eax, %eax\nmov %eax, %gs")
PROBE("lfs", "mov %rdx, (%rbx)\nmovl $0, 4(%rbx)\nlfs (%rbx), %ecx\nmov %fs, %esi")
PROBE("lfs bad", "mov %rdx, (%rbx)\nmovl $0x10, 4(%rbx)\nlfs (%rbx), %ecx")
PROBE("lfs hole", "lfs (%r9), %ecx")
PROBE("lss", "mov %rdx, (%rbx)\nmovl $0x2b, 4(%rbx)\nlss (%rbx), %ecx\nmov %ss, %esi")
PROBE("lss bad", "mov %rdx, (%rbx)\nmovl $0x33, 4(%rbx)\nlss (%rbx), %ecx")
PROBE("lss absent", "mov %rdx, (%rbx)\nmovl $0xf, 4(%rbx)\nlss (%rbx), %ecx")
PROBE("mov absent to ss", "mov $0xf, %eax\nmov %eax, %ss")
PROBE("mov ldt to ss", "mov $0x7, %eax\nmov %eax, %ss\nmov %ss, %ecx\nmov $0x2b, %eax\nmov %eax, %ss")
PROBE("ss after jumps", "mov $0x7, %eax\nmov %eax, %ss\njmp 7f\n7: mov $300, %esi\n6: dec %esi\njnz 6b\nmov %ss, (%rbx)\nmov %ss, %rcx")
PROBE("lss ldt", "mov %rdx, (%rbx)\nmovl $7, 4(%rbx)\nlss (%rbx), %ecx\njmp 7f\n7: mov %ss, %esi")
PROBE("syscall sets ss", "mov $0x7, %eax\nmov %eax, %ss\nmov $39, %eax\nsyscall\nmov %ss, %esi\nxor %eax, %eax\nxor %ecx, %ecx\nxor %r11d, %r11d")
PROBE("ss in a frame", "mov $0x7, %eax\nmov %eax, %ss\nud2")
PROBE("mov ds es", "mov $0x2b, %eax\nmov %eax, %ds\nmov %eax, %es\nmov %ds, %ecx\nmov %es, %edx\nxor %eax, %eax\nmov %eax, %ds\nmov %eax, %es")
PROBE("lar verr", "mov $0x2b, %eax\nlar %eax, %ecx\nmov $0x33, %edx\nverr %dx\nlar %edx, %esi\nverw %dx")
PROBE("set gs base", "mov $158, %eax\nmov $0x1001, %edi\nmov %rbx, %rsi\nsyscall\nmov %gs, %r9d\nmov %gs:0, %r10\nxor %ecx, %ecx\nxor %r11d, %r11d")
PROBE("syscall clears gs", "mov $0x2b, %eax\nmov %eax, %gs\nmov $158, %eax\nmov $0x1001, %edi\nmov %rbx, %rsi\nsyscall\n"
      "mov %gs, %r9d\nmov %gs:0, %r10\nxor %ecx, %ecx\nxor %r11d, %r11d")

static void describe(unsigned number, int code, int absent) {
    struct user_desc d = {.entry_number = number, .base_addr = DATA + 0x100, .limit = 0xfffff, .seg_32bit = 1,
                          .contents = code ? 2 : 0, .limit_in_pages = 1, .seg_not_present = absent, .useable = 1};
    if (syscall(SYS_modify_ldt, 1, &d, sizeof d)) puts("no LDT");
}

int main(void) {
    describe(0, 0, 0);
    describe(1, 0, 1);
    describe(3, 1, 1);
    return run_probes();
}
