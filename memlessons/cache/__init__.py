"""Live memory: one form per kind of store, all under the same rules."""

from memlessons.cache.conversation import ConversationState, allocate
from memlessons.cache.errors import CacheFull, CannotLoad, FormNotBuilt, NotHeld
from memlessons.cache.full import FullMemory
from memlessons.cache.protocol import Memory, TokenMemory, View

__all__ = [
    "CacheFull", "CannotLoad", "ConversationState", "FormNotBuilt", "FullMemory", "Memory", "NotHeld",
    "TokenMemory", "View", "allocate",
]  # fmt: skip
