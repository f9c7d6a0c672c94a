"""Compiles CUDA C++ with nvcc where the toolkit is installed."""

load("@cuda//:nvcc_path.bzl", "HAVE_NVCC", "NVCC")

# Volta to Hopper as machine code, later devices through PTX.
_ARCHITECTURES = "-gencode=arch=compute_80,code=sm_80 -gencode=arch=compute_90,code=[sm_90,compute_90]"

def nvcc_shared_library(name, src, hdrs = [], **kwargs):
    """lib<name>.so from one .cu file; no target at all on a machine without nvcc.

    Args:
      name: name of the library, without lib and .so.
      src: the .cu file.
      hdrs: headers that it includes by repository path.
      **kwargs: passed to genrule.
    """
    if not HAVE_NVCC:
        return
    native.genrule(
        name = name,
        srcs = [src] + hdrs,
        outs = ["lib" + name + ".so"],
        cmd = " ".join([
            NVCC,
            "-shared -std=c++17 -O3 -cudart=static -Xcompiler -fPIC,-ffp-contract=off -I.",
            _ARCHITECTURES,
            "$(location {}) -o $@".format(src),
        ]),
        **kwargs
    )
