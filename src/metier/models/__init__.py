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
    from .client import ChatModel, ModelClient, connect, load_client, read_tool_call, tool_definitions
    from .failures import RetryPolicy, Sleep, explain_failure, missing_extra, with_retries
    from .messages import ChatMessage, ChatRole, Message, ModelReply, ToolCall

_EXPORTS = {
    "metier.models.choice": (
        "HOW_TO_SET_A_MODEL",
        "PROVIDERS",
        "ModelChoice",
        "ModelProvider",
        "choose_model",
        "likely_provider",
    ),
    "metier.models.client": ("ChatModel", "ModelClient", "connect", "load_client", "read_tool_call", "tool_definitions"),
    "metier.models.failures": ("RetryPolicy", "Sleep", "explain_failure", "missing_extra", "with_retries"),
    "metier.models.messages": ("ChatMessage", "ChatRole", "Message", "ModelReply", "ToolCall"),
}
__all__ = [
    "HOW_TO_SET_A_MODEL",
    "PROVIDERS",
    "ChatMessage",
    "ChatModel",
    "ChatRole",
    "Message",
    "ModelChoice",
    "ModelClient",
    "ModelProvider",
    "ModelReply",
    "RetryPolicy",
    "Sleep",
    "ToolCall",
    "choose_model",
    "connect",
    "explain_failure",
    "likely_provider",
    "load_client",
    "missing_extra",
    "read_tool_call",
    "tool_definitions",
    "with_retries",
]

if not TYPE_CHECKING:  # a type checker sees the imports above, and tells a typo from a name
    __getattr__, __dir__ = lazy_exports(__name__, _EXPORTS)
