/* ioctl(2): requests whose structure leads to another one, those whose number alone says what they read and write, and
 * those of which nobody knows.  The rest are rows of ioctls.def.
 */
#include "tools/memcheck/client/ioctl_lists.h"

#define COUNT(table) (sizeof(table) / sizeof *(table))
#define MAX_WARNED   10

enum {
    IFREQ_AT = 16,
    SIOCGIFCONF = 0x8912,
    SIOCETHTOOL = 0x8946,
    SIOCSHWTSTAMP = 0x89b0,
    SIOCGHWTSTAMP = 0x89b1,
    HWTSTAMP_BYTES = 12, /* struct hwtstamp_config */
};

/* What ifr_data of SIOCETHTOOL leads to: a command, and bytes that depend on it.  At count_at lies, afterwards, how
 * many elements follow what `out` says. */
struct tool {
    u8 command;
    u8 in_at, in;
    u8 out;
    u8 count_at, element;
    const char *name;
};

#define VALUE(get, name)                                                                                               \
    {get, 0, 0, 8, 0, 0, "SIOCETHTOOL,G" name}, { (get) + 1, 4, 4, 0, 0, 0, "SIOCETHTOOL,S" name }

static const struct tool tools[] = {
    {0x01, 0, 0, 44, 0, 0, "SIOCETHTOOL,GSET"},
    {0x02, 4, 40, 0, 0, 0, "SIOCETHTOOL,SSET"},
    {0x03, 0, 0, 196, 0, 0, "SIOCETHTOOL,GDRVINFO"},
    {0x04, 8, 4, 12, 8, 1, "SIOCETHTOOL,GREGS"},
    {0x05, 0, 0, 20, 0, 0, "SIOCETHTOOL,GWOL"},
    {0x06, 8, 4, 0, 0, 0, "SIOCETHTOOL,SWOL"},
    VALUE(0x07, "MSGLVL"),
    {0x0a, 0, 0, 8, 0, 0, "SIOCETHTOOL,GLINK"},
    {0x0b, 8, 8, 16, 12, 1, "SIOCETHTOOL,GEEPROM"},
    {0x0e, 0, 0, 92, 0, 0, "SIOCETHTOOL,GCOALESCE"},
    {0x0f, 4, 88, 0, 0, 0, "SIOCETHTOOL,SCOALESCE"},
    {0x10, 0, 0, 36, 0, 0, "SIOCETHTOOL,GRINGPARAM"},
    {0x11, 4, 32, 0, 0, 0, "SIOCETHTOOL,SRINGPARAM"},
    {0x12, 0, 0, 16, 0, 0, "SIOCETHTOOL,GPAUSEPARAM"},
    {0x13, 4, 12, 0, 0, 0, "SIOCETHTOOL,SPAUSEPARAM"},
    VALUE(0x14, "RXCSUM"),
    VALUE(0x16, "TXCSUM"),
    VALUE(0x18, "SG"),
    {0x1b, 4, 4, 12, 8, 32, "SIOCETHTOOL,GSTRINGS"},
    {0x1c, 4, 4, 0, 0, 0, "SIOCETHTOOL,PHYS_ID"},
    {0x1d, 0, 0, 8, 4, 8, "SIOCETHTOOL,GSTATS"},
    VALUE(0x1e, "TSO"),
    {0x20, 4, 4, 8, 4, 1, "SIOCETHTOOL,GPERMADDR"},
    VALUE(0x21, "UFO"),
    VALUE(0x23, "GSO"),
    VALUE(0x25, "FLAGS"),
    VALUE(0x27, "PFLAGS"),
    {0x29, 4, 4, 16, 0, 0, "SIOCETHTOOL,GRXFH"},
    VALUE(0x2b, "GRO"),
    {0x37, 8, 8, 16, 0, 0, "SIOCETHTOOL,GSSET_INFO"},
    {0x3a, 4, 4, 8, 4, 16, "SIOCETHTOOL,GFEATURES"},
    {0x3c, 0, 0, 36, 0, 0, "SIOCETHTOOL,GCHANNELS"},
    {0x3d, 4, 32, 0, 0, 0, "SIOCETHTOOL,SCHANNELS"},
    {0x41, 0, 0, 44, 0, 0, "SIOCETHTOOL,GET_TS_INFO"},
    {0x42, 0, 0, 44, 0, 0, "SIOCETHTOOL,GMODULEINFO"},
    {0x44, 0, 0, 40, 0, 0, "SIOCETHTOOL,GEEE"},
    {0x4c, 15, 1, 48, 0, 0, "SIOCETHTOOL,GLINKSETTINGS"},
};

static const struct tool *find_tool(u64 at) {
    u32 command = 0;
    if (rt_copy_from(&command, at, sizeof command) < 0) return NULL;
    for (u32 i = 0; i < COUNT(tools); i++)
        if (tools[i].command == command) return &tools[i];
    return NULL;
}

/* struct ifconf: a length, and a pointer to as many bytes; without one the kernel says how many it has. */
static void list_of_interfaces(struct call *c, u64 at) {
    u32 length = 0;
    u64 buffer = 0;
    call_reads(c, at, 4, "SIOCGIFCONF", "");
    call_reads(c, at + 8, 8, "SIOCGIFCONF", "");
    if (rt_copy_from(&length, at, 4) < 0 || rt_copy_from(&buffer, at + 8, 8) < 0) return;
    if (buffer && (int)length > 0) call_writes(c, buffer, length, "ioctl(SIOCGIFCONF).ifc_buf", "");
}

/* Where ifr_data leads to. */
static u64 data_of(u64 at) {
    u64 data = 0;
    return rt_copy_from(&data, at + IFREQ_AT, 8) < 0 ? 0 : data;
}

static void tool_in(struct call *c, u64 at) {
    u64 data = data_of(at);
    call_reads_name(c, at, IFREQ_AT, "SIOCETHTOOL,ir->ifr_name");
    call_reads(c, at + IFREQ_AT, 8, "SIOCETHTOOL,ir", "");
    call_reads(c, data, 4, "SIOCETHTOOL,ir->ifr_data", "");
    const struct tool *tool = find_tool(data);
    if (!tool) return;
    if (tool->in) call_reads(c, data + tool->in_at, tool->in, tool->name, "");
    if (tool->out) call_writes(c, data, tool->out, tool->name, "");
}

static void tool_out(struct tstate *ts, u64 at) {
    u64 data = data_of(at), sets = 0;
    u32 n = 0;
    signed char words = 0;
    const struct tool *tool = find_tool(data);
    if (!tool) return;
    call_defines(ts, data, tool->out);
    if (tool->count_at && rt_copy_from(&n, data + tool->count_at, 4) == 0)
        call_defines(ts, data + tool->out, (u64)n * tool->element);
    /* A number for each set of strings that there is; three masks of so many words each. */
    if (tool->command == 0x37 && rt_copy_from(&sets, data + 8, 8) == 0)
        call_defines(ts, data + tool->out, 4 * (u64)__builtin_popcountl(sets));
    if (tool->command == 0x4c && rt_copy_from(&words, data + 15, 1) == 0 && words > 0)
        call_defines(ts, data + tool->out, 12 * (u64)words);
}

static void time_stamps_in(struct call *c, u64 at, bool sets) {
    const char *name = sets ? "SIOCSHWTSTAMP" : "SIOCGHWTSTAMP";
    call_reads_name(c, at, IFREQ_AT, name);
    call_reads(c, at + IFREQ_AT, 8, name, "");
    if (sets)
        call_reads(c, data_of(at), HWTSTAMP_BYTES, name, "");
    else
        call_writes(c, data_of(at), HWTSTAMP_BYTES, name, "");
}

/* The number says which way how many bytes go; what ioctls.def has no row for may still not mean it so. */
static u64 hinted(u64 request, u32 way) { return (u32)request >> 30 & way ? (u32)request >> 16 & 0x3fff : 0; }

/* Once for each request, ten of them. */
static void warn_unknown(struct call *c, u32 request) {
    static u32 warned[MAX_WARNED], n;
    u32 seen = __atomic_load_n(&n, __ATOMIC_ACQUIRE);
    for (u32 i = 0; i < seen && i < MAX_WARNED; i++)
        if (warned[i] == request) return;
    u32 mine = __atomic_fetch_add(&n, 1, __ATOMIC_ACQ_REL);
    if (mine >= MAX_WARNED) {
        __atomic_store_n(&n, MAX_WARNED, __ATOMIC_RELEASE);
        return;
    }
    warned[mine] = request;
    rt_warn(c->ts, "Warning: noted but unhandled ioctl 0x%x with no size/direction hints.", request);
    rt_warn(c->ts, "   This could cause spurious value errors to appear.");
}

void call_ioctl_in(struct call *c) {
    u64 at = c->args[2], in = hinted(c->args[1], 1), out = hinted(c->args[1], 2);
    u32 request = (u32)c->args[1];
    if (ioctl_list(c, true)) return;
    switch (request) {
    case SIOCGIFCONF: list_of_interfaces(c, at); return;
    case SIOCETHTOOL: tool_in(c, at); return;
    case SIOCSHWTSTAMP:
    case SIOCGHWTSTAMP: time_stamps_in(c, at, request == SIOCSHWTSTAMP); return;
    default: break;
    }
    if (rt.flags & IP_C_LAX_IOCTLS) return;
    if (in) call_reads(c, at, in, "generic", "");
    if (out) call_writes(c, at, out, "generic", "");
    if (!in && !out && request) warn_unknown(c, request); /* 0 is what programs probe a descriptor with */
}

void call_ioctl_out(struct call *c) {
    u64 at = c->args[2], out = hinted(c->args[1], 2), buffer = 0;
    u32 request = (u32)c->args[1], length = 0;
    if (ioctl_list(c, false)) return;
    switch (request) {
    case SIOCGIFCONF:
        call_defines(c->ts, at, 4);
        if (rt_copy_from(&length, at, 4) == 0 && rt_copy_from(&buffer, at + 8, 8) == 0 && buffer)
            call_defines(c->ts, buffer, length);
        return;
    case SIOCETHTOOL: tool_out(c->ts, at); return;
    case SIOCSHWTSTAMP:
    case SIOCGHWTSTAMP: call_defines(c->ts, data_of(at), HWTSTAMP_BYTES); return;
    default: break;
    }
    /* Of the family of sockets most are a struct ifreq, what drivers have of their own, too. */
    call_defines(c->ts, at, out == 0 && (request & 0xff00) == 0x8900 ? 40 : out);
}
