"""The names of rules_proto, given by the rules that Bazel 4 has built in."""

proto_lang_toolchain = native.proto_lang_toolchain
proto_library = native.proto_library
