"""The redirection core: specifications, active bindings, and the state that ``--trace-redir`` prints.

It knows no engine: it is told what is mapped and unmapped, and says which code address leads to which.
"""

from interpose.redir.change import Change, Message, MissingText
from interpose.redir.model import (
    ActiveBinding,
    CodeObject,
    Conflict,
    Specification,
    Symbol,
    SymbolColumns,
    SymbolTable,
    Verdict,
)
from interpose.redir.options import RequiredText, Synonyms
from interpose.redir.state import RedirState
from interpose.redir.trace import Reason, first_use_line, missing_text_lines
from interpose.zenc import Kind

__all__ = [
    "ActiveBinding",
    "Change",
    "CodeObject",
    "Conflict",
    "Kind",
    "Message",
    "MissingText",
    "Reason",
    "RedirState",
    "RequiredText",
    "Specification",
    "Symbol",
    "SymbolColumns",
    "SymbolTable",
    "Synonyms",
    "Verdict",
    "first_use_line",
    "missing_text_lines",
]
