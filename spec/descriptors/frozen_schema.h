// Compares the schemas of the tree with those that were frozen at a release.
//
//   google::protobuf::FileDescriptorSet frozen = ..., now = ...;
//   for (const std::string& change : ChangesOf(frozen, now)) ...
//
// A schema that may only grow (the vocabulary, the trainer's configuration) has
// lost nothing when ChangesOf is empty: a reader of the frozen schema reads
// what the new one writes, and the other way round. One that may not change at
// all (a released major of the checkpoint) has, beyond that, AdditionsTo empty.
//
// Pure functions, thread-safe.
#ifndef REPRISE_SPEC_DESCRIPTORS_FROZEN_SCHEMA_H_
#define REPRISE_SPEC_DESCRIPTORS_FROZEN_SCHEMA_H_

#include <string>
#include <vector>

#include "google/protobuf/descriptor.pb.h"

namespace reprise {

// What of `frozen` is in `now` no longer, or otherwise: files, packages,
// messages, fields (by number: name, type, label, presence, oneof), enum values
// (by name, number and options, which hold the canonical text) and extensions.
// Other options, comments and order do not count. One text a change.
std::vector<std::string> ChangesOf(
    const google::protobuf::FileDescriptorSet& frozen,
    const google::protobuf::FileDescriptorSet& now);

// What `now` has and `frozen` has not. One text an addition.
std::vector<std::string> AdditionsTo(
    const google::protobuf::FileDescriptorSet& frozen,
    const google::protobuf::FileDescriptorSet& now);

// The descriptor set that a build made (binary), or that is committed (text).
// Prints why and aborts when it cannot be read: for tests.
google::protobuf::FileDescriptorSet ReadDescriptorSet(const std::string& path);

}  // namespace reprise

#endif  // REPRISE_SPEC_DESCRIPTORS_FROZEN_SCHEMA_H_
