// Reads and checks an adapter file: see adapter.proto.
//
//   absl::StatusOr<AdapterFile> file = AdapterFile::Read("my.adapter");
//   if (!file.ok()) ...  // "my.adapter:12:10: ..."
//
// Immutable afterwards, thread-safe.
#ifndef REPRISE_CONFORMANCE_LOG_ADAPTER_ADAPTER_FILE_H_
#define REPRISE_CONFORMANCE_LOG_ADAPTER_ADAPTER_FILE_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "conformance/protocol/messages.h"
#include "reprise/conformance/log_adapter/adapter.pb.h"

namespace reprise::conformance {

using Placeholders = std::map<std::string, std::string>;

// Replaces {name} by the value of every name in `values`; leaves other text in
// braces alone.
std::string FillIn(absl::string_view text, const Placeholders& values);

class AdapterFile {
 public:
  // Errors, all beginning with FILE:LINE:COLUMN where there is such a place:
  // NotFound; InvalidArgument for text that is not an Adapter, an unknown
  // field, a regex that RE2 refuses, a group that its kind of line does not
  // have, a placeholder that nothing defines, a missing command or STEP
  // pattern.
  static absl::StatusOr<AdapterFile> Read(const std::string& path);
  // The same from text; `path` is for messages and {adapter_folder}.
  static absl::StatusOr<AdapterFile> Parse(const std::string& text,
                                           const std::string& path);

  const v1::Adapter& adapter() const { return adapter_; }

  // What the testee says of itself.
  Description Describe() const;

  // All placeholders but {checkpoint}. Errors: InvalidArgument when the command
  // needs {steps}, {save_every} or {seed} and neither request nor adapter has
  // it.
  absl::StatusOr<Placeholders> PlaceholdersFor(const RunRequest& request) const;

 private:
  AdapterFile() = default;

  std::string path_;
  v1::Adapter adapter_;
};

}  // namespace reprise::conformance

#endif  // REPRISE_CONFORMANCE_LOG_ADAPTER_ADAPTER_FILE_H_
