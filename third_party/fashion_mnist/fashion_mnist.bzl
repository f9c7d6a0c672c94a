"""@fashion_mnist: the four IDX files of Debian's dataset-fashion-mnist, checked."""

_FOLDER = "/usr/share/datasets/fashion-mnist"

_SHA256 = {
    "t10k-images-idx3-ubyte.gz": "cc1d090a38ace84dfa1aa66e3ada7c336ef481a96936906477e6dd344da56eaa",
    "t10k-labels-idx1-ubyte.gz": "8d3605d196f4be44669e46906da9733c8131fef761fdbfec72c424d5222f1a05",
    "train-images-idx3-ubyte.gz": "b0564c3eedabfbf835052cff8503ea422014ce006caf5b757f851416ee8300c7",
    "train-labels-idx1-ubyte.gz": "0ae29f65d86684f32d1b9c85147786c547b9c6aebcaf235f0400a0cce308b056",
}

def _impl(ctx):
    for name, expected in _SHA256.items():
        path = _FOLDER + "/" + name
        if not ctx.path(path).exists:
            fail("{} is not there. Run tools/bazel itself once: it installs dataset-fashion-mnist.".format(path))
        result = ctx.execute(["sha256sum", path])
        found = result.stdout.split(" ")[0]
        if found != expected:
            fail("{}: expected SHA-256 {}, found {}. Reinstall dataset-fashion-mnist.".format(path, expected, found))
        ctx.symlink(path, name)
    ctx.file("BUILD.bazel", """
filegroup(
    name = "data",
    srcs = glob(["*.gz"]),
    visibility = ["//visibility:public"],
)
""")

fashion_mnist_repository = repository_rule(
    implementation = _impl,
    doc = "Links the installed data set into a repository after checking every file's SHA-256.",
)
