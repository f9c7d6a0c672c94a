"""Says what a file that is no checkpoint seems to be, so that people see their slip at once."""

_STARTS = (
    (b'PK\x03\x04', 'a zip archive, as torch.save writes it'),
    (b'PK\x05\x06', 'an empty zip archive'),
    (b'\x80\x02', 'a Python pickle, as older torch.save wrote it'),
    (b'\x80\x03', 'a Python pickle'),
    (b'\x80\x04', 'a Python pickle'),
    (b'\x80\x05', 'a Python pickle'),
    (b'\x89HDF\r\n\x1a\n', 'an HDF5 file'),
    (b'\x93NUMPY', 'a NumPy array'),
    (b'\x1f\x8b', 'gzip data'),
    (b'\x28\xb5\x2f\xfd', 'Zstandard data'),
    (b'BZh', 'bzip2 data'),
    (b'\xfd7zXZ\x00', 'xz data'),
    (b'\x89PNG\r\n\x1a\n', 'a PNG image'),
    (b'\x7fELF', 'an ELF program or library'),
    (b'GGUF', 'a GGUF model'),
)


def kind(start):
    """What a file with these first bytes (a few hundred are enough) seems to be."""
    for magic, name in _STARTS:
        if start.startswith(magic):
            return name
    if start[257:262] == b'ustar':
        return 'a tar archive'
    if not start.strip(b'\0'):
        return 'a file of zeros: its content never reached the disk'
    length = int.from_bytes(start[:8], 'little')
    if start[8:9] == b'{' and 2 <= length <= 100 << 20:
        return 'a safetensors file'
    # Text may be cut inside a character.
    for cut in range(min(4, len(start))):
        try:
            text = start[:len(start) - cut].decode('utf-8')
        except UnicodeDecodeError:
            continue
        if all(c.isprintable() or c in '\t\r\n\f' for c in text):
            return 'JSON' if text.lstrip()[:1] in ('{', '[') else 'a text file'
        break
    return 'an unknown kind of file that begins with %s' % start[:8].hex(' ')
