"""Permissions of skills: tool patterns, the user's policy, and the approvals bound to one version of a skill."""
