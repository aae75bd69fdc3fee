"""Container images without Docker: a Dockerfile of the usual kind becomes a package that a runtime can run."""

from .builds import CodeBuild
from .store import Image, ImageStore

__all__ = ["CodeBuild", "Image", "ImageStore"]
