"""What this paper offers: the league, whose runs and ranking take functions of the user's own."""

from lab.papers.crossing import league

__all__ = ["league"]
