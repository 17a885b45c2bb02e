"""The panes of the screens, one a file."""
