"""The rules of a registry: packages and releases, access, publishing, queries, ownership, moderation and signatures."""
