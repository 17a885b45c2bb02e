"""Models as a user's own files make them, for checking what ``gpuplanner trace`` sees against the zoo."""
