#include "conformance/judge/testing/describe.h"

#include <cstdlib>
#include <iostream>
#include <random>

#include "absl/strings/str_cat.h"
#include "conformance/judge/context.h"

namespace reprise::conformance::testing {

uint64_t Seed() {
  const char* text = std::getenv("REPRISE_SEED");
  const uint64_t seed = text != nullptr
                            ? std::strtoull(text, nullptr, 10)
                            : static_cast<uint64_t>(std::random_device{}());
  std::cout << "replay with --test_env=REPRISE_SEED=" << seed << "\n";
  return seed;
}

std::string Describe(const v1::Verdict& verdict) {
  std::string text = verdict.summary() + "\n";
  for (const v1::Finding& finding : verdict.findings()) {
    absl::StrAppend(&text, "    ", NamesText(finding), " | attempt ",
                    finding.attempt(), " ", finding.channel(), ": ",
                    finding.evidence(), "\n");
  }
  for (const v1::ResumePoint& resume : verdict.resumes()) {
    absl::StrAppend(&text, "    attempt ", resume.attempt(), " resumed step ",
                    resume.resumed_step(), " after a kill at ",
                    resume.killed_after_step(), "\n");
  }
  for (const std::string& note : verdict.notes()) {
    absl::StrAppend(&text, "    note: ", note, "\n");
  }
  return text;
}

}  // namespace reprise::conformance::testing
