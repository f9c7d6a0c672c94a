"""Tests that a target reaches nothing of certain kinds: architecture as a test.

    load("//tools/lint:absence_test.bzl", "absence_test")

    absence_test(
        name = "format_reaches_no_torch_test",
        target = "//format",
        forbidden = ["@libtorch//", "//trainer[/:]"],
    )

fails, listing the labels, when a label that `target` depends on, however far
away, begins with one of the regular expressions in `forbidden`.
"""

def absence_test(name, target, forbidden, **kwargs):
    """Declares the test.

    Args:
      name: ends in _test.
      target: label of the target whose dependencies are looked at.
      forbidden: regular expressions that are matched at the start of labels, as
        `bazel query` prints them ("//format:refusal", "@libtorch//:torch").
      **kwargs: handed to the test.
    """
    pattern = "^(%s)" % "|".join(forbidden)
    native.genquery(
        name = name + "_found",
        testonly = True,
        expression = "filter('%s', deps(%s))" % (pattern, target),
        scope = [target],
        tags = ["manual"],
    )

    # What the query saw at all, so that an empty answer means something.
    native.genquery(
        name = name + "_seen",
        testonly = True,
        expression = "deps(%s)" % target,
        scope = [target],
        tags = ["manual"],
    )
    native.sh_test(
        name = name,
        size = "small",
        srcs = ["//tools/lint:absence_test.sh"],
        args = [
            "$(location :%s_found)" % name,
            "$(location :%s_seen)" % name,
            target,
        ],
        data = [
            ":%s_found" % name,
            ":%s_seen" % name,
        ],
        **kwargs
    )
