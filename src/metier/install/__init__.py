"""Skills from anywhere: refs, fetchers, plan, apply, lock."""
