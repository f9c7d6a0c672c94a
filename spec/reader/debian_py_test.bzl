"""A Python test that runs on Debian's own interpreter."""

def debian_py_test(name, src, data = [], size = "small"):
    """Runs `src` (a label) with /usr/bin/python3; the reader is importable.

    py_test takes the first python3 in PATH, which need not have Debian's modules.
    """
    native.sh_test(
        name = name,
        size = size,
        srcs = ["//spec/reader/testing:run_python.sh"],
        args = ["$(location %s)" % src],
        data = [
            src,
            "//spec/reader:expect_pb2.py",
            "//spec/reader:sources",
            "//spec/reader/testing:support",
        ] + data,
    )
