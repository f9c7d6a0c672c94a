"""Refusals by the names of the vocabulary, and the exit codes of SPEC.md, section 8."""

from reprise_reader.schema import vocabulary_pb2 as vocabulary

EXIT_DONE = vocabulary.EXIT_DONE
EXIT_USAGE = vocabulary.EXIT_USAGE
EXIT_BAD_REQUEST = vocabulary.EXIT_BAD_REQUEST
EXIT_CHECKPOINT_REJECTED = vocabulary.EXIT_CHECKPOINT_REJECTED


class Refused(Exception):
    """A checkpoint or run folder was refused.

    refusal: name of the vocabulary, e.g. 'CORRUPT'.
    message: what was expected and found, without file and offset.
    offset:  byte of the file, or None.
    path:    file or folder, or None while it is not known.
    """

    def __init__(self, refusal, message, offset=None, path=None):
        vocabulary.Refusal.Value(refusal)  # a name that the vocabulary has not is a bug here
        super().__init__(refusal, message)
        self.refusal = refusal
        self.message = message
        self.offset = offset
        self.path = path

    def at(self, path):
        """The same refusal, saying in which file; the first one named is kept."""
        if self.path is None:
            self.path = path
        return self

    def __str__(self):
        where = '' if self.path is None else '%s: ' % self.path
        offset = '' if self.offset is None else ' (at byte %d)' % self.offset
        return '%s: %s%s%s' % (self.refusal, where, self.message, offset)

    @property
    def exit_code(self):
        """EXIT-1: ABSENT and LOCKED are bad requests, all others reject the checkpoint."""
        if self.refusal in ('ABSENT', 'LOCKED'):
            return EXIT_BAD_REQUEST
        return EXIT_CHECKPOINT_REJECTED


def from_os_error(error, path):
    """The refusal that an OSError of `path` means."""
    if isinstance(error, (FileNotFoundError, NotADirectoryError)):
        return Refused('ABSENT', 'nothing of that name is there', path=path)
    return Refused('IO', error.strerror or str(error), path=path)


def text(enum, number):
    """Canonical text of an enum value of the vocabulary; its number where there is none."""
    value = enum.DESCRIPTOR.values_by_number.get(number)
    return str(number) if value is None else value.GetOptions().Extensions[vocabulary.text]
