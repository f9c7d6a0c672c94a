"""A function that takes any bytes, run by libFuzzer and as an ordinary test.

    load("//format/testing:fuzz_target.bzl", "fuzz_target")

    fuzz_target(
        name = "envelope_fuzz",
        srcs = ["envelope_fuzz.cc"],
        seeds = ["//spec/vectors/v1:vectors"],
        deps = [":envelope"],
    )

`srcs` define LLVMFuzzerTestOneInput. This declares

    envelope_fuzz        with --config=fuzz libFuzzer's own program:
                             bazel build --config=fuzz //format:envelope_fuzz
                             bazel-bin/format/envelope_fuzz NEW_INPUTS SEEDS
                         and without it the plain driver;
    envelope_fuzz_test   the seeds and a short random run, in every configuration.
"""

def fuzz_target(name, srcs, deps, seeds):
    """Declares the program and the test.

    Args:
      name: ends in _fuzz.
      srcs: define LLVMFuzzerTestOneInput, and no main.
      deps: what they need.
      seeds: files to start from.
    """
    native.cc_library(
        name = name + "_lib",
        testonly = True,
        srcs = srcs,
        # Nothing but the driver's main refers to it.
        alwayslink = True,
        visibility = ["//visibility:private"],
        deps = deps,
    )
    native.cc_binary(
        name = name,
        testonly = True,
        linkopts = select({
            "//format/testing:libfuzzer": ["-fsanitize=fuzzer"],
            "//conditions:default": [],
        }),
        deps = [":" + name + "_lib"] + select({
            "//format/testing:libfuzzer": [],
            "//conditions:default": ["//format/testing:fuzz_driver"],
        }),
    )
    native.cc_test(
        name = name + "_test",
        size = "small",
        args = ["$(locations %s)" % seed for seed in seeds],
        data = seeds,
        tags = ["fuzz"],
        deps = [
            ":" + name + "_lib",
            "//format/testing:fuzz_driver",
        ],
    )
