"""Writes the wrappers' C for one MPI library: of the table, what the library's header declares.

The header is asked by name only, so that the same table serves Open MPI's and MPICH's, old and new. What it
lacks gets no wrapper; what the table lacks gets one that passes it on (and says so, if MPIWRAP_DEBUG asks).
"""

from __future__ import annotations

import re
from dataclasses import replace

from interpose.mpi.table import BUFFERS, Function, Parameter, Shape
from interpose.zenc import encode

# Kind: type of C, and in the function of large counts.
_TYPES = {
    "int": ("int", "int"),
    "count": ("int", "MPI_Count"),
    "disp": ("int", "MPI_Aint"),
    "acount": ("MPI_Aint", "MPI_Count"),
    "aint": ("MPI_Aint", "MPI_Aint"),
    "offset": ("MPI_Offset", "MPI_Offset"),
    "mcount": ("MPI_Count", "MPI_Count"),
    "fint": ("MPI_Fint", "MPI_Fint"),
    "comm": ("MPI_Comm", "MPI_Comm"),
    "type": ("MPI_Datatype", "MPI_Datatype"),
    "op": ("MPI_Op", "MPI_Op"),
    "group": ("MPI_Group", "MPI_Group"),
    "win": ("MPI_Win", "MPI_Win"),
    "file": ("MPI_File", "MPI_File"),
    "info": ("MPI_Info", "MPI_Info"),
    "errh": ("MPI_Errhandler", "MPI_Errhandler"),
    "request": ("MPI_Request", "MPI_Request"),
    "message": ("MPI_Message", "MPI_Message"),
    "session": ("MPI_Session", "MPI_Session"),
    "status": ("MPI_Status", "MPI_Status"),
}
_WIDENS = ("count", "disp", "acount")
_OBJECTS = {
    "comm": "IP_COMM",
    "type": "IP_TYPE",
    "op": "IP_OP",
    "group": "IP_GROUP_",
    "win": "IP_WIN",
    "file": "IP_FILE_",
    "info": "IP_INFO",
    "errh": "IP_ERRH",
    "message": "IP_MESSAGE",
    "session": "IP_SESSION",
}
_OPAQUE = ("string", "chars", "pointer")
# They return no int, have no fixed number of arguments, or convert between languages: nothing to check.
_UNWRAPPED = re.compile(
    r"Wtime|Wtick|Pcontrol|Aint_add|Aint_diff|\w+_c2f|\w+_f2c|Status_(?:c2f08|f082c|f082f|f2f08|c2f|f2c)$"
)
_DECLARED = re.compile(r"\bint\s+PMPI_(\w+)\s*\(([^;{}]*?)\)\s*(?:__attribute__[^;]*)?;", re.DOTALL)


def declared(preprocessed: str) -> dict[str, str]:
    """Names (without ``PMPI_``) and parameters of a preprocessed ``mpi.h``'s functions that return int."""
    return {name: " ".join(words.split()) for name, words in _DECLARED.findall(preprocessed)}


def probed(names: dict[str, str], library: str) -> str:
    """The header ``probed.h``: what the library has, its name, and the Z-encoded pattern of it.

    ``library`` is empty where MPI is linked in.
    """
    unversioned = library.partition(".so")[0] + ".so*"
    lines = [
        "/* Generated. */",
        f'#define IP_LIBRARY "{library}"',
        f"#define IP_SONAME {encode(unversioned) if library else 'NONE'}",
    ]
    return "\n".join([*lines, *(f"#define HAVE_PMPI_{name} 1" for name in sorted(names)), ""])


def widens(function: Function) -> bool:
    """Whether there may be a function of large counts beside it."""
    return any(parameter.kind in _WIDENS for parameter in function.parameters)


def unwrapped(name: str) -> bool:
    """Whether a function has no wrapper on purpose."""
    return _UNWRAPPED.match(name) is not None


def parameters(function: Function, wide: bool) -> list[str]:
    """The parameters of a wrapper, as C declares them."""
    wrapper = _Wrapper(replace(function, wide=wide))
    return [wrapper.declaration(parameter) for parameter in function.parameters]


def wrappers(functions: list[Function], names: dict[str, str]) -> str:
    """The C of all wrappers that are not written by hand."""
    parts = ['/* Generated. */\n#include "mpiwrap.h"\n']
    known = set()
    for function in functions:
        known.add(function.name)
        variants = [function]
        if widens(function):
            wide = replace(function, name=function.name + "_c", wide=True)
            known.add(wide.name)
            variants.append(wide)
        for variant in variants:
            if variant.name in names and "custom" not in function.effects:
                parts.append(_Wrapper(variant).text())
    for name in sorted(names):
        if name not in known and not unwrapped(name):
            parts.append(_unknown(name, names[name]))
    return "\n".join(parts)


def _unknown(name: str, parameters: str) -> str:
    words = [] if parameters in ("", "void") else split(parameters)
    if len(words) > 13 or any(re.search(r"\.\.\.|\b(float|double)\b(?!.*\*)", word) for word in words):
        return ""
    arguments = [f"a{i}" for i in range(len(words))]
    declared_as = ", ".join(f"unsigned long {a}" for a in arguments) or "void"
    return (
        f"int IP_EXPORT IP_WRAPPER(PMPI_{name})({declared_as}) {{\n"
        "    InterposeOrigFn orig;\n    struct ip_call call[1];\n    int code;\n    static unsigned times;\n"
        "    INTERPOSE_GET_ORIG_FN(orig);\n"
        f"    bool outer = {_enter(name)};\n"
        f'    if (outer)\n        ip_unknown("MPI_{name}", &times);\n'
        f"    {_call(arguments)}\n"
        "    if (outer)\n        ip_leave(call);\n    return code;\n}\n"
    )


def split(parameters: str) -> list[str]:
    """A list of parameters, at the commas that are in no parentheses."""
    return [word.strip() for word in re.split(r",(?![^()]*\))", parameters)]


def _enter(name: str) -> str:
    return f'ip_enter(call, "MPI_{name}", __builtin_return_address(0), __builtin_frame_address(0))'


def _call(arguments: list[str]) -> str:
    n = len(arguments)
    puts = (
        " ".join(f"INTERPOSE_PUT_({i}, {argument})" for i, argument in enumerate(arguments, 1)) or "(void)0;"
    )
    return f"INTERPOSE_CALL_(code, orig, INTERPOSE_SETUP_{n}_, {n}, {puts});"


class _Wrapper:
    """One wrapper: declarations, what is done before and after the call."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.by_name = {parameter.name: parameter for parameter in function.parameters}
        self.before: list[str] = []
        self.after: list[str] = []
        self.declarations: list[str] = []
        self.status = function.find("status", ">")
        self.request = function.find("request", ">")
        self.buffers = [p for p in function.parameters if p.kind in BUFFERS]
        self.persistent = "persistent" in function.effects

    def text(self) -> str:
        function = self.function
        for parameter in function.parameters:
            self._argument(parameter)
        if any(set(p.shape.options) & {"root", "leaf"} or p.kind == "bcast" for p in self.buffers if p.shape):
            self.before.append("unsigned part = ip_part_of(comm, root);")
        for parameter in self.buffers:
            self._buffer(parameter)
        self._transfer()
        self._effects()
        parameters = ", ".join(map(self.declaration, function.parameters)) or "void"
        lines = [f"int IP_EXPORT IP_WRAPPER(PMPI_{function.name})({parameters}) {{"]
        lines += ["    InterposeOrigFn orig;", "    struct ip_call call[1];", "    int code;"]
        lines += [f"    {line}" for line in self.declarations]
        lines += ["    INTERPOSE_GET_ORIG_FN(orig);", f"    bool outer = {_enter(function.name)};"]
        if self.before:
            lines += ["    if (outer) {", *(f"        {line}" for line in self.before), "    }"]
        lines.append(f"    {_call([p.name for p in function.parameters])}")
        lines.append("    if (outer) {")
        if self.after:
            guard = f" && {function.effects['iff']}" if "iff" in function.effects else ""
            lines += [f"        if (code == MPI_SUCCESS{guard}) {{"]
            lines += [*(f"            {line}" for line in self.after), "        }"]
        lines += ["        ip_leave(call);", "    }", "    return code;", "}", ""]
        return "\n".join(lines)

    # ---- arguments

    def _type(self, kind: str) -> str:
        return _TYPES[kind][self.function.wide] if kind in _TYPES else kind

    def declaration(self, p: Parameter) -> str:
        if p.kind in ("in", "string"):
            return f"const {'void' if p.kind == 'in' else 'char'} *{p.name}"
        if p.kind in BUFFERS or p.kind == "pointer" or p.kind.startswith("fn("):
            return f"void *{p.name}"
        if p.kind == "chars":
            return f"char *{p.name}"
        if p.kind == "range":
            return f"int {p.name}[][3]"
        if p.mode == "&":
            return f"const MPI_Status *{p.name}"
        if p.length is not None:
            return f"{'' if p.mode else 'const '}{self._type(p.kind)} {p.name}[]"
        return f"{self._type(p.kind)} {'*' if p.mode else ''}{p.name}"

    def _shaped(self) -> set[str]:
        """Arguments that matter only where a buffer of theirs does; they are checked there."""
        shapes = [p.shape for p in self.buffers if p.shape]
        names = {name for s in shapes for name in (s.count, s.type, s.displacements) if name}
        return names

    def _argument(self, p: Parameter) -> None:
        if p.kind in BUFFERS or p.optional or p.name in self._shaped():
            return
        if p.kind == "pointer" and p.mode == ">":
            self.before.append(f"IP_STORES((void **){p.name}, 1);")
        elif p.kind in _OPAQUE or p.kind.startswith("fn(") or "*" in p.kind or p.mode == "&":
            return
        elif p.length is not None:
            check = "IP_STORES" if p.mode == ">" else "IP_READS"
            self.before.append(f"{check}({p.name}, {p.length});")
        elif p.mode in (">", "="):
            self.before.append(f"IP_STORES({p.name}, 1);")
        elif p.mode in ("<", "<>"):
            self.before.append(f"IP_READS({p.name}, 1);")
        else:
            self.before.append(f"IP_VALUE({p.name});")

    # ---- buffers

    def _blocks(self, blocks: str) -> str:
        return blocks if blocks == "partitions" else f"ip_{blocks}(comm)"

    def _is_wide(self, name: str) -> bool:
        return self._type(self.by_name[name].kind) != "int"

    def _add(self, role: str, name: str, shape: Shape, only: str | None = None) -> str:
        first = f'call, {role}, "{name}", {name}'
        if shape.displacements is not None and shape.blocks is not None:
            counts = ("wide_" if self._is_wide(shape.count) else "") + "counts"
            places = ("wide_" if self._is_wide(shape.displacements) else "") + "displacements"
            types = shape.type if shape.types_differ else f"&{shape.type}"
            each = "true" if shape.types_differ else "false"
            return (
                f"ip_add_vector({first}, &(struct ip_blocks){{.n = {self._blocks(shape.blocks)}, "
                f".{counts} = {shape.count}, .{places} = {shape.displacements}, .types = {types}, "
                f".type_each = {each}, .only = {only or -1}}});"
            )
        if shape.blocks is not None:
            if only is not None:
                return f"ip_add_own({first}, {only}, {shape.count}, {shape.type});"
            return f"ip_add_blocks({first}, {self._blocks(shape.blocks)}, {shape.count}, {shape.type});"
        count = shape.count
        if shape.fold == "sum":
            count = f"ip_sum{'_wide' if self.function.wide else ''}({count}, ip_group(comm))"
        elif shape.fold == "mine":
            count = f"ip_mine{'_wide' if self.function.wide else ''}({count}, comm)"
        by_status = role == "IP_STORE" and (
            "status" in shape.options or (self.status is not None and self.request is None)
        )
        return f"ip_add({first}, {count}, {shape.type}, {'true' if by_status else 'false'});"

    def _checks(self, shape: Shape) -> list[str]:
        """Of the arguments that say where the buffer is."""
        lines = []
        for name in (shape.count, shape.displacements, shape.type):
            p = self.by_name.get(name or "")
            if p is None:
                continue
            if p.length is None:
                lines.append(f"IP_VALUE({name});")
            else:
                blocks = p.length.partition(";")[0]
                lines.append(f"IP_READS({name}, {self._blocks(blocks)});")
        return lines

    def _guarded(self, condition: str, lines: list[str]) -> None:
        if condition:
            lines = [f"if ({condition}) {{", *(f"    {line}" for line in lines), "}"]
        self.before += lines

    def _condition(self, shape: Shape, is_store: bool) -> list[str]:
        options, conditions = shape.options, []
        if "root" in options:
            conditions.append("(part & IP_ROOT)")
        if "leaf" in options:
            conditions.append("(part & IP_LEAF)")
        if "notfirst" in options:
            conditions.append("ip_rank(comm) != 0")
        if "noop" in options:
            conditions.append("op != MPI_NO_OP")
        if "peer" in options:
            peer, _, other = options["peer"].partition("/")
            conditions.append(f"{other if is_store and other else peer} != MPI_PROC_NULL")
        return conditions

    def _buffer(self, p: Parameter) -> None:
        shape = p.shape
        assert shape is not None
        checks = self._checks(shape)
        if p.kind == "bcast":
            self._guarded("part & IP_ROOT", [*checks, self._add("IP_READ", p.name, shape)])
            is_leaf = "(part & (IP_ROOT | IP_LEAF)) == IP_LEAF"
            self._guarded(is_leaf, [*checks, self._add("IP_STORE", p.name, shape)])
            return
        if p.kind in ("in", "both"):
            conditions = self._condition(shape, False)
            place = next((k for k in ("own", "same", "base") if k in shape.options), None)
            if place is not None:
                other = self.by_name[shape.options[place]]
                assert other.shape is not None
                if place == "own":
                    line = self._add("IP_READ", other.name, other.shape, "ip_rank(comm)")
                else:
                    line = self._add("IP_READ", other.name, other.shape if place == "same" else shape)
                lines = [line] if place != "base" else [*checks, line]
                # What it reads is checked where the other buffer is given; it is used here already.
                if place != "base":
                    lines = [*self._checks(other.shape), *lines]
                self._guarded(" && ".join([*conditions, f"{p.name} == MPI_IN_PLACE"]), lines)
                conditions.append(f"{p.name} != MPI_IN_PLACE")
            self._guarded(" && ".join(conditions), [*checks, self._add("IP_READ", p.name, shape)])
        if p.kind in ("out", "both"):
            conditions = self._condition(shape, True)
            if "leaf" in shape.options:
                conditions.append(f"{p.name} != MPI_IN_PLACE")
            own_checks = [] if p.kind == "both" else checks
            self._guarded(" && ".join(conditions), [*own_checks, self._add("IP_STORE", p.name, shape)])

    def _transfer(self) -> None:
        """What becomes of the buffers: at once, with the request, or when something is synchronised."""
        effects = self.function.effects
        if self.buffers and not self.persistent:
            self.before.append("ip_check_overlaps(call);")
            self.before.append("ip_check_buffers(call, &call->spans, true, true);")
        if self.status is not None and (self.buffers or "ends" in effects):
            self.declarations.append("MPI_Status own_status;")
            self.before += [f"if ({self.status.name} == MPI_STATUS_IGNORE)"]
            self.before += [f"    {self.status.name} = &own_status;"]
        if self.request is not None:
            persistent = "true" if self.persistent else "false"
            partitions = effects.get("partitioned", "0")
            self.after.append(f"ip_request_made(call, IP_WORD(*request), {persistent}, {partitions});")
        elif "pending" in effects:
            what, _, rank = effects["pending"].partition(",")
            kind = "IP_WIN" if what == "win" else "IP_FILE_"
            self.after.append(f"ip_pending(call, {kind}, IP_WORD({what}), {rank or -1});")
        elif self.buffers:
            status = self.status.name if self.status else "NULL"
            self.after.append(f"ip_all_arrived(&call->spans, {status});")

    # ---- objects and other effects

    def _effects(self) -> None:
        effects = self.function.effects
        freed: dict[str, str] = {}
        for p in self.function.parameters:
            if p.kind not in _OBJECTS or p.length is not None:
                continue
            if p.mode == "<>":
                self.declarations.append(f"uintptr_t freed_{p.name} = 0;")
                forget = f" ip_layout_forget(*{p.name});" if p.kind == "type" else ""
                self.before.append(f"if ({p.name}) {{ freed_{p.name} = IP_WORD(*{p.name});{forget} }}")
                self.after.append(f"ip_freed({_OBJECTS[p.kind]}, freed_{p.name});")
                freed[p.name] = f"freed_{p.name}"
                if p.kind == "win":
                    self.after.append(f"ip_window_gone(freed_{p.name});")
            elif p.mode == ">" and p.kind == "type":
                self.after.append(f"ip_made_type(*{p.name}, call);")
            elif p.mode == ">":
                self.after.append(f"ip_made({_OBJECTS[p.kind]}, IP_WORD(*{p.name}), call);")
        for effect, value in effects.items():
            words = value.split(",")
            if effect in ("sync", "ends"):
                kind, status = ("IP_WIN", "NULL") if effect == "sync" else ("IP_FILE_", "status")
                what = freed.get(words[0], f"IP_WORD({words[0]})")
                rank = words[1] if len(words) > 1 else "-1"
                self.after.append(f"ip_synchronised({kind}, {what}, {rank}, {status});")
            elif effect in ("exposure", "fence"):
                self.after.append(
                    f"ip_window_exposed(IP_WORD({words[0]}), {str(effect == 'fence').lower()});"
                )
            elif effect == "window":
                self.after.append(f"ip_window_made(IP_WORD(*win), {words[0]}, {words[1]});")
            elif effect == "attach":
                self.after.append(f"ip_window_attached(IP_WORD(win), {words[0]}, {words[1]});")
            elif effect == "detach":
                self.after.append(f"ip_window_detached(IP_WORD(win), {words[0]});")
            elif effect == "room":
                self.before.append(f"IP_STORES((char *){words[0]}, {words[1]});")
            elif effect == "memory":
                self.after.append(f"INTERPOSE_MAKE_MEM_UNDEFINED(*(void **){words[0]}, {words[1]});")
                self.after.append(f"ip_made(IP_MEMORY, IP_WORD(*(void **){words[0]}), call);")
            elif effect == "forget":
                self.before.append(f"ip_freed(IP_MEMORY, IP_WORD({words[1]}));")
            elif effect == "types":
                self.after.append(f"ip_made_contents(datatype, {words[0]}, max_datatypes, call);")
            elif effect == "ready":
                numbers = ", ".join(words)
                self.before.append(f"ip_partitions_ready(call, IP_WORD(request), {numbers});")
            elif effect == "ready_each":
                each = f"ip_partitions_ready(call, IP_WORD(request), {words[1]}[i], {words[1]}[i]);"
                self.before += [f"for (int i = 0; i < {words[0]}; i++)", f"    {each}"]
            elif effect == "arrived":
                self.after += ["if (*flag)", f"    ip_partition_arrived(IP_WORD(request), {value});"]
            elif effect in ("packs", "unpacks"):
                self._packing(effect, words[0])

    def _packing(self, effect: str, packed: str) -> None:
        self.declarations.append("MPI_Aint begin = 0;")
        self.before.append("if (position) begin = (MPI_Aint)*position;")
        self.after.append("if (*position > begin)")
        request = "MAKE_MEM_DEFINED_IF_ADDRESSABLE" if effect == "packs" else "CHECK_MEM_IS_DEFINED"
        where = f"(const char *){packed} + begin, (MPI_Aint)*position - begin"
        self.after.append(f"    (void)INTERPOSE_{request}({where});")
