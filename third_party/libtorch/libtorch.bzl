"""@libtorch: the pinned PyTorch wheel's C++ half, or the one at LIBTORCH_HOME."""

_INCLUDES = ["ATen", "c10", "caffe2", "torch", "THC"]
_CPU_LIBRARIES = ["libc10.so", "libtorch_cpu.so", "libgomp.so.1"]
_CUDA_RUNTIME = ["libcudart.so.13", "libcupti.so.13"]
_CUDA_LIBRARIES = ["libtorch.so", "libc10_cuda.so", "libtorch_cuda.so", "libtorch_cuda_linalg.so", "libtorch_nvshmem.so"]

def _find(ctx, home, names):
    """The folder, among those where wheels and archives keep them, of each named library."""
    found = {}
    for folder in [home + "/lib", home + "/../nvidia/cu13/lib", "/usr/local/cuda/lib64"]:
        for name in names:
            if name not in found and ctx.path(folder + "/" + name).exists:
                found[name] = folder + "/" + name
    return found

def _impl(ctx):
    home = ctx.os.environ.get("LIBTORCH_HOME")
    if not home:
        result = ctx.execute(
            ["python3", ctx.path(ctx.attr.fetch), "--print_home"],
            timeout = 3600,
            quiet = False,
        )
        if result.return_code != 0:
            fail("LibTorch could not be fetched; the lines above say what failed and how to go on.")
        home = result.stdout.strip().split("\n")[-1]
    if not ctx.path(home + "/include/ATen/ATen.h").exists:
        fail("LIBTORCH_HOME={}: expected include/ATen/ATen.h and lib/libtorch_cpu.so there, found none. ".format(home) +
             "Give the folder of an unpacked LibTorch 2.11 or of site-packages/torch, or unset it.")
    for name in _INCLUDES:
        # Not google/protobuf: the wheel carries headers of another protobuf than ours.
        if ctx.path(home + "/include/" + name).exists:
            ctx.symlink(home + "/include/" + name, "include/" + name)
    needed = _find(ctx, home, _CPU_LIBRARIES + _CUDA_RUNTIME)
    for name in _CPU_LIBRARIES:
        if name not in needed:
            fail("{}/lib lacks {}.".format(home, name))
    for name, path in needed.items():
        ctx.symlink(path, "lib/" + name)
    for name, path in _find(ctx, home, _CUDA_LIBRARIES).items():
        ctx.symlink(path, "lib/" + name)
    ctx.symlink(ctx.attr.build_file, "BUILD.bazel")

libtorch_repository = repository_rule(
    implementation = _impl,
    environ = ["LIBTORCH_HOME", "XDG_CACHE_HOME"],
    attrs = {
        "build_file": attr.label(default = "//third_party/libtorch:libtorch.BUILD"),
        "fetch": attr.label(default = "//third_party/libtorch:fetch.py"),
    },
)
