"""Evals in the agent programs that people have: Claude Code, Codex, Gemini CLI and opencode.

The program runs headless, in a fresh home, in a sandbox. Between it and its model stands a proxy, which sees which skills are
loaded, counts tokens, holds the key, and can record the model's answers and give them again.
"""
