// Says what the C++ library answers to many checkpoint folders, for comparison
// with another reader. Reads their paths from standard input, a line each, and
// prints a line for each: VALID, or the refusal and the message.
#include <cstdio>
#include <iostream>
#include <string>

#include "absl/status/statusor.h"
#include "format/checkpoint_store.h"
#include "format/refusal.h"
#include "format/vocabulary.h"

int main() {
  std::string path;
  while (std::getline(std::cin, path)) {
    const absl::StatusOr<reprise::LoadedCheckpoint> checkpoint =
        reprise::ReadAsStored(path);
    if (checkpoint.ok()) {
      std::puts("VALID");
      continue;
    }
    const std::string refusal(
        reprise::TextOf(reprise::RefusalOf(checkpoint.status())));
    std::string message(checkpoint.status().message());
    for (char& c : message) {
      if (c == '\n') c = ' ';
    }
    std::printf("%s %s\n", refusal.c_str(), message.c_str());
  }
  return 0;
}
