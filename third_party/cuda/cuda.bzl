"""@cuda: the CUDA toolkit where nvcc is found, an empty repository elsewhere."""

def _impl(ctx):
    home = ctx.os.environ.get("CUDA_HOME")
    nvcc = ctx.path(home + "/bin/nvcc") if home else ctx.which("nvcc")
    if not nvcc and ctx.path("/usr/local/cuda/bin/nvcc").exists:
        nvcc = ctx.path("/usr/local/cuda/bin/nvcc")
    found = nvcc != None and nvcc.exists
    if home and not found:
        fail("CUDA_HOME={}: expected bin/nvcc there, found none. Correct it or unset it.".format(home))
    if found:
        root = nvcc.realpath.dirname.dirname
        ctx.symlink(root, "toolkit")
        ctx.file("nvcc_path.bzl", "NVCC = \"{}\"\nHAVE_NVCC = True\n".format(nvcc.realpath))
    else:
        ctx.file("nvcc_path.bzl", "NVCC = \"\"\nHAVE_NVCC = False\n")
    ctx.symlink(ctx.attr.build_file, "BUILD.bazel")

cuda_repository = repository_rule(
    implementation = _impl,
    environ = ["CUDA_HOME", "PATH"],
    local = True,
    attrs = {"build_file": attr.label(default = "//third_party/cuda:cuda.BUILD")},
)
