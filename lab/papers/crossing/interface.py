"""What others may ask of this paper: the league, whose runs and ranking take functions of the user's own."""

from lab.papers.crossing import league

__all__ = ["league"]
