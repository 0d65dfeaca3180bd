"""What JavaScript and TypeScript do, by their tokens."""
