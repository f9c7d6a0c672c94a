// Runs a fuzz target without libFuzzer: over every file named on the command
// line, then over random changes of them. Usage:
//
//   envelope_fuzz FILE...
//
// Replay one run with REPRISE_SEED=<seed>; REPRISE_FUZZ_RUNS=<n> makes it
// longer. The input that stopped the process is left in
// $TEST_UNDECLARED_OUTPUTS_DIR, or else in the current folder, as crash-input.
#include "format/testing/fuzz_driver.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <fstream>
#include <iostream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "format/testing/random_damage.h"

namespace {

constexpr uint64_t kDefaultSeed = 1;
constexpr uint64_t kDefaultRuns = 20000;

// What a signal handler may touch.
const char* g_input = nullptr;
size_t g_input_size = 0;
char g_keep_as[4096];

void KeepInput(int signal_number) {
  const int file = open(g_keep_as, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (file >= 0 && write(file, g_input, g_input_size) >= 0) close(file);
  signal(signal_number, SIG_DFL);
  raise(signal_number);
}

uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') return otherwise;
  char* end = nullptr;
  const uint64_t value = std::strtoull(text, &end, 10);
  if (*end != '\0') {
    std::cerr << name << ": expected a number, found " << text << "\n";
    std::exit(1);
  }
  return value;
}

void Run(const std::string& input) {
  g_input = input.data();
  g_input_size = input.size();
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()),
                         input.size());
}

}  // namespace

int main(int argc, char** argv) {
  const char* folder = std::getenv("TEST_UNDECLARED_OUTPUTS_DIR");
  std::snprintf(g_keep_as, sizeof(g_keep_as), "%s/crash-input",
                folder == nullptr ? "." : folder);
  for (int number : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL}) {
    signal(number, KeepInput);
  }
  std::vector<std::string> seeds;
  for (int i = 1; i < argc; ++i) {
    std::ifstream file(argv[i], std::ios::binary);
    if (!file.is_open()) {
      std::cerr << argv[i] << ": cannot be read\n";
      return 1;
    }
    seeds.emplace_back(std::istreambuf_iterator<char>(file),
                       std::istreambuf_iterator<char>());
    Run(seeds.back());
  }
  if (seeds.empty()) {
    std::cerr << "expected files to start from, found none\n";
    return 1;
  }
  const uint64_t seed = FromEnvironment("REPRISE_SEED", kDefaultSeed);
  const uint64_t runs = FromEnvironment("REPRISE_FUZZ_RUNS", kDefaultRuns);
  std::cout << "replay: REPRISE_SEED=" << seed << " REPRISE_FUZZ_RUNS=" << runs
            << " " << argv[0] << " with " << seeds.size() << " seeds"
            << std::endl;
  std::mt19937_64 random(seed);
  for (uint64_t run = 0; run < runs; ++run) {
    Run(reprise::Damaged(seeds[random() % seeds.size()], &random));
  }
  return 0;
}
