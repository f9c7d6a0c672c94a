#include "trainer/parity/python_run.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "format/run_layout.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/parity/fixture.h"
#include "trainer/testing/metrics_records.h"
#include "trainer/testing/run_files.h"
#include "trainer/testing/trainer_process.h"

namespace reprise {

using ::testing::AllOf;
using ::testing::Contains;

std::string OutputOf(const std::string& command) {
  std::string output;
  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) {
    ADD_FAILURE() << command;
    return output;
  }
  std::array<char, 4096> buffer;
  while (size_t size = std::fread(buffer.data(), 1, buffer.size(), pipe)) {
    output.append(buffer.data(), size);
  }
  EXPECT_EQ(pclose(pipe), 0) << command << "\n" << output;
  return output;
}

Imported ImportFixture(const std::string& name, uint64_t step,
                       const std::string& flags) {
  Imported imported;
  imported.folder = FreshFolder("imported-" + name);
  imported.checkpoint =
      absl::StrCat(imported.folder, "/", CheckpointName(step));
  imported.output =
      OutputOf(absl::StrCat("tools/ckpt/ckpt import trainer/parity/fixtures/",
                            name, ".pt --out=", imported.folder, " ", flags));
  constexpr char kLacking[] = "Lacking for the very same run: ";
  for (absl::string_view line : absl::StrSplit(imported.output, '\n')) {
    if (!absl::ConsumePrefix(&line, kLacking)) continue;
    imported.lacking = absl::StrSplit(line, ' ');
  }
  EXPECT_THAT(imported.lacking, AllOf(Contains("config"), Contains("mode"),
                                      Contains("sampler.cursor")))
      << imported.output;
  return imported;
}

std::vector<std::string> Accepting(const Imported& imported) {
  return {"--resume=" + imported.checkpoint,
          "--accept_missing=" + absl::StrJoin(imported.lacking, ",")};
}

PythonsLosses CompareWithPython(const std::string& folder,
                                const std::string& fixture, std::string scale) {
  PythonsLosses found;
  const auto records = ReadMetrics(folder);
  if (!records.ok()) {
    ADD_FAILURE() << records.status();
    return found;
  }
  std::map<uint64_t, const MetricsRecord*> steps;
  for (const MetricsRecord& record : records->kept) {
    if (record.type == "step") steps[record.step] = &record;
  }
  for (const Words& words : ReadFixture(fixture)) {
    const uint64_t step = std::stoull(words[0]);
    if (steps.count(step) == 0) {
      ADD_FAILURE() << fixture << ": the trainer has no step " << step;
      return found;
    }
    const auto& channels = steps[step]->channels;
    const uint64_t apart = UlpDistance(F32(channels.at("loss")), F32(words[1]));
    if (found.compared == 0) found.first_ulp = apart;
    found.worst_ulp = std::max(found.worst_ulp, apart);
    ++found.compared;
    if (words.size() < 3) continue;
    EXPECT_EQ(channels.at("scale"), scale) << "used by step " << step;
    scale = words[2];
  }
  std::printf("%s: %d losses, the first %d ulp apart, all at most %d\n",
              fixture.c_str(), found.compared,
              static_cast<int>(found.first_ulp),
              static_cast<int>(found.worst_ulp));
  return found;
}

}  // namespace reprise
