"""An installation on disk, all or nothing: plan, stage, flush, journal, rename."""
