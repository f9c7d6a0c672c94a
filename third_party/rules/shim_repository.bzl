"""A repository made of a few files that live in this workspace."""

def _impl(ctx):
    for label, destination in ctx.attr.files.items():
        ctx.symlink(label, destination)
        folder = destination.rpartition("/")[0]
        if folder and not destination.endswith("BUILD"):
            ctx.file(folder + "/BUILD")

shim_repository = repository_rule(
    implementation = _impl,
    doc = "Gives one of Bazel's rule repositories by files of this workspace.",
    local = True,
    attrs = {
        "files": attr.label_keyed_string_dict(
            mandatory = True,
            allow_files = True,
            doc = "File of this workspace -> its place in the repository.",
        ),
    },
)
