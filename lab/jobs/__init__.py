"""Jobs: what one call trains, a search or a fleet of runs; a file for each kind of it."""
