"""Papers, a package each: what each figure and table of a paper needs. No paper knows another."""
