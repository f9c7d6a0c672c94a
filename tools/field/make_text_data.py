"""Writes train.bin and val.bin (a text's bytes as uint16) as nanoGPT's data loader reads them."""

import numpy


def write(text, folder):
    with open(text, 'rb') as file:
        tokens = numpy.frombuffer(file.read(), dtype=numpy.uint8).astype(numpy.uint16)
    cut = len(tokens) * 9 // 10
    tokens[:cut].tofile(folder + '/train.bin')
    tokens[cut:].tofile(folder + '/val.bin')
