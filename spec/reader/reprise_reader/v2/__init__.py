"""Major version 2: the rules of SPEC.md, sections 10 to 12."""

from reprise_reader.v2.reader import MAX_MANIFEST_BYTES, check_other_files, read

__all__ = ['MAX_MANIFEST_BYTES', 'check_other_files', 'read']
