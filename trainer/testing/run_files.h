// The files of a run folder, as a test sees and damages them.
#ifndef REPRISE_TRAINER_TESTING_RUN_FILES_H_
#define REPRISE_TRAINER_TESTING_RUN_FILES_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace reprise {

// Names in `folder`, sorted; none when it is not there.
std::vector<std::string> Entries(const std::string& folder);

// Every file below `folder`: path within it -> content. A folder without files
// is an entry that ends in "/". The lock is left out: its text is a message.
std::map<std::string, std::string> ReadTree(const std::string& folder);

// Bytes in all files below `folder`; 0 when it is not there.
uint64_t TreeBytes(const std::string& folder);

// Names of the files that are in one of the two only or have another content.
std::vector<std::string> ChangedFiles(
    const std::map<std::string, std::string>& before,
    const std::map<std::string, std::string>& after);

std::string ReadFileOrDie(const std::string& path);

// Replaces the content of a file, also of one that is read-only.
void Overwrite(const std::string& path, const std::string& content);

}  // namespace reprise

#endif  // REPRISE_TRAINER_TESTING_RUN_FILES_H_
