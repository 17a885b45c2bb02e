"""The command line: parse, show. No arithmetic, no provider names."""
