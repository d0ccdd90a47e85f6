"""What callgrind says at the end of a run."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def _rate(part: int, whole: int) -> str:
    return f"{100 * part / whole if whole else 0:.1f}%"


def summary_lines(names: Sequence[str], totals: Sequence[int]) -> list[str]:
    """Events, and for simulations the usual tables."""
    cost = dict(zip(names, totals, strict=True))
    lines = [
        "",
        f"Events    : {' '.join(names)}",
        f"Collected : {' '.join(map(str, totals))}",
        "",
    ]
    ir = f"{cost['Ir']:,}"
    if "Dr" not in cost:
        lines.append(f"I   refs:      {ir}")
    else:
        lines += _cache_lines(cost, max(len(ir), 11))
    if "Bc" in cost:
        lines += _branch_lines(cost)
    return lines


def _cache_lines(c: dict[str, int], width: int) -> list[str]:
    dr, dw = c["Dr"], c["Dw"]
    d1r, d1w, dlr, dlw = c["D1mr"], c["D1mw"], c["DLmr"], c["DLmw"]

    def both(label: str, read: int, write: int) -> str:
        return f"{label}{read + write:>{width},}  ({read:,} rd + {write:,} wr)"

    def rates(label: str, read: tuple[int, int], write: tuple[int, int]) -> str:
        whole = _rate(read[0] + write[0], read[1] + write[1])
        return f"{label}{whole:>{width}} ({_rate(*read)} + {_rate(*write)})"

    upper = c["I1mr"] + d1r
    return [
        f"I   refs:      {c['Ir']:>{width},}",
        f"I1  misses:    {c['I1mr']:>{width},}",
        f"LLi misses:    {c['ILmr']:>{width},}",
        f"I1  miss rate: {100 * c['I1mr'] / max(c['Ir'], 1):>{width - 1}.2f}%",
        f"LLi miss rate: {100 * c['ILmr'] / max(c['Ir'], 1):>{width - 1}.2f}%",
        "",
        both("D   refs:      ", dr, dw),
        both("D1  misses:    ", d1r, d1w),
        both("LLd misses:    ", dlr, dlw),
        rates("D1  miss rate: ", (d1r, dr), (d1w, dw)),
        rates("LLd miss rate: ", (dlr, dr), (dlw, dw)),
        "",
        both("LL refs:       ", upper, d1w),
        both("LL misses:     ", c["ILmr"] + dlr, dlw),
        rates("LL miss rate:  ", (c["ILmr"] + dlr, c["Ir"] + dr), (dlw, dw)),
    ]


def _branch_lines(c: dict[str, int]) -> list[str]:
    bc, bcm, bi, bim = c["Bc"], c["Bcm"], c["Bi"], c["Bim"]
    return [
        "",
        f"Branches:      {bc + bi:,}  ({bc:,} cond + {bi:,} ind)",
        f"Mispredicts:   {bcm + bim:,}  ({bcm:,} cond + {bim:,} ind)",
        f"Mispred rate:  {_rate(bcm + bim, bc + bi)} ({_rate(bcm, bc)} + {_rate(bim, bi)})",
    ]
