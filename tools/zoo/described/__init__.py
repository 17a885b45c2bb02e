"""Models written out by hand from their papers and public benchmark scripts, as plain torch modules."""
