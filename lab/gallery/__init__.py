"""The gallery: a static site of the results that are shipped with the lab, which opens from disk."""

from lab.gallery.site import write_gallery

__all__ = ["write_gallery"]
