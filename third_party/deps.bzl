"""Every repository Reprise is built on, as one macro.

A consumer's WORKSPACE calls reprise_deps() after naming this workspace
`reprise`. A repository that the consumer has already declared is kept.
"""

load("//third_party/cuda:cuda.bzl", "cuda_repository")
load("//third_party/fashion_mnist:fashion_mnist.bzl", "fashion_mnist_repository")
load("//third_party/libtorch:libtorch.bzl", "libtorch_repository")
load("//third_party/rules:shim_repository.bzl", "shim_repository")
load("//third_party/rules:system_library.bzl", "system_library_repository")

def _declare(rule, name, **kwargs):
    if name not in native.existing_rules():
        rule(name = name, **kwargs)

def reprise_deps():
    """Declares Bazel's rule repositories, the system libraries, LibTorch, CUDA and the data."""

    # What Bazel 4 itself asks for: rules whose implementation is native there.
    _declare(
        shim_repository,
        "rules_cc",
        files = {Label("//third_party/rules:rules_cc_defs.bzl"): "cc/defs.bzl"},
    )
    _declare(
        shim_repository,
        "rules_proto",
        files = {Label("//third_party/rules:rules_proto_defs.bzl"): "proto/defs.bzl"},
    )
    _declare(
        shim_repository,
        "remote_coverage_tools",
        files = {Label("//third_party/rules:remote_coverage_tools.BUILD"): "BUILD"},
    )
    _declare(native.local_repository, "rules_java", path = "/usr/share/bazel/rules/java")

    _declare(
        system_library_repository,
        "com_google_protobuf",
        build_file = Label("//third_party/protobuf:protobuf.BUILD"),
        archives = ["libprotobuf.a"],
        headers = ["google/protobuf"],
        programs = ["protoc"],
    )
    _declare(
        system_library_repository,
        "com_google_absl",
        build_file = Label("//third_party/absl:absl.BUILD"),
        archives = ["libabsl_strings.a"],
        headers = ["absl"],
    )
    _declare(
        system_library_repository,
        "com_googlesource_code_re2",
        build_file = Label("//third_party/re2:re2.BUILD"),
        archives = ["libre2.a"],
        headers = ["re2"],
    )
    _declare(
        system_library_repository,
        "com_google_googletest",
        build_file = Label("//third_party/googletest:googletest.BUILD"),
        archives = ["libgtest.a", "libgtest_main.a", "libgmock.a"],
        headers = ["gtest", "gmock"],
    )
    _declare(
        system_library_repository,
        "com_github_google_benchmark",
        build_file = Label("//third_party/benchmark:benchmark.BUILD"),
        headers = ["benchmark"],
    )
    _declare(
        system_library_repository,
        "xxhash",
        build_file = Label("//third_party/xxhash:xxhash.BUILD"),
        headers = ["xxhash.h"],
    )
    _declare(
        system_library_repository,
        "zlib",
        build_file = Label("//third_party/zlib:zlib.BUILD"),
        archives = ["libz.a"],
        headers = ["zlib.h", "zconf.h"],
    )
    _declare(libtorch_repository, "libtorch")
    _declare(cuda_repository, "cuda")
    _declare(fashion_mnist_repository, "fashion_mnist")
