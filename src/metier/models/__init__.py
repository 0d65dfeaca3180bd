"""One way to a model, for chat, run, evals, optimize and the judge of the scan.

choice = choose_model("openai:gpt-5", environment=os.environ)
async with ModelClient(choice) as model:
    reply = await model.ask([ChatMessage.user("Say hello")])
"""

from __future__ import annotations

from metier.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .choice import HOW_TO_SET_A_MODEL, PROVIDERS, ModelChoice, ModelProvider, choose_model, likely_provider
    from .client import ChatModel, ModelClient, load_client, read_tool_call
    from .failures import FailureKind, ModelFailure, RetryPolicy, Sleep, explain_failure, missing_extra, with_retries
    from .library import connect
    from .messages import ChatMessage, ChatRole, Message, ModelReply, ToolCall
    from .query import Delta, Instruction, ModelQuery, ProviderClient
    from .transcript import MessagePart, PartKind, TranscriptMessage, dump_messages, load_messages

_EXPORTS = {
    "metier.models.choice": (
        "HOW_TO_SET_A_MODEL",
        "PROVIDERS",
        "ModelChoice",
        "ModelProvider",
        "choose_model",
        "likely_provider",
    ),
    "metier.models.client": ("ChatModel", "ModelClient", "load_client", "read_tool_call"),
    "metier.models.failures": (
        "FailureKind",
        "ModelFailure",
        "RetryPolicy",
        "Sleep",
        "explain_failure",
        "missing_extra",
        "with_retries",
    ),
    "metier.models.library": ("connect",),
    "metier.models.messages": ("ChatMessage", "ChatRole", "Message", "ModelReply", "ToolCall"),
    "metier.models.query": ("Delta", "Instruction", "ModelQuery", "ProviderClient"),
    "metier.models.transcript": ("MessagePart", "PartKind", "TranscriptMessage", "dump_messages", "load_messages"),
}
__all__ = [
    "HOW_TO_SET_A_MODEL",
    "PROVIDERS",
    "ChatMessage",
    "ChatModel",
    "ChatRole",
    "Delta",
    "FailureKind",
    "Instruction",
    "Message",
    "MessagePart",
    "ModelChoice",
    "ModelClient",
    "ModelFailure",
    "ModelProvider",
    "ModelQuery",
    "ModelReply",
    "PartKind",
    "ProviderClient",
    "RetryPolicy",
    "Sleep",
    "ToolCall",
    "TranscriptMessage",
    "choose_model",
    "connect",
    "dump_messages",
    "explain_failure",
    "likely_provider",
    "load_client",
    "load_messages",
    "missing_extra",
    "read_tool_call",
    "with_retries",
]

if not TYPE_CHECKING:  # a type checker sees the imports above, and tells a typo from a name
    __getattr__, __dir__ = lazy_exports(__name__, _EXPORTS)
