"""Major version 1: the rules of SPEC.md, sections 3, 5 and 9.

What another major plugs in next to this: a package with MAX_MANIFEST_BYTES and `read` of the same meaning, named
in reading.MAJORS.
"""

from reprise_reader.v1.reader import MAX_MANIFEST_BYTES, read

__all__ = ['MAX_MANIFEST_BYTES', 'read']
