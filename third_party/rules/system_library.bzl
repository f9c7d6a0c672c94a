"""A repository made of a library that the distribution has installed."""

_INCLUDE = "/usr/include"
_LIB = "/usr/lib/x86_64-linux-gnu"
_BIN = "/usr/bin"

def _need(ctx, path, name):
    if not ctx.path(path).exists:
        fail(("{} is needed for @{} and is not installed. Run tools/bazel itself once: it installs " +
              "the packages that third_party/packages.txt lists.").format(path, name))

def _impl(ctx):
    ctx.symlink(ctx.attr.build_file, "BUILD.bazel")
    for header in ctx.attr.headers:
        _need(ctx, _INCLUDE + "/" + header, ctx.name)
        ctx.symlink(_INCLUDE + "/" + header, "include/" + header)
    for archive in ctx.attr.archives:
        _need(ctx, _LIB + "/" + archive, ctx.name)
        ctx.symlink(_LIB + "/" + archive, "lib/" + archive)
    for program in ctx.attr.programs:
        _need(ctx, _BIN + "/" + program, ctx.name)
        ctx.symlink(_BIN + "/" + program, "bin/" + program)

system_library_repository = repository_rule(
    implementation = _impl,
    doc = "Links headers, static archives and programs of an installed package into a repository.",
    local = True,
    attrs = {
        "build_file": attr.label(mandatory = True, doc = "The repository's BUILD file."),
        "headers": attr.string_list(doc = "Files or folders below /usr/include."),
        "archives": attr.string_list(doc = "Static archives below the multiarch library folder."),
        "programs": attr.string_list(doc = "Programs below /usr/bin."),
    },
)
