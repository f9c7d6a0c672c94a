#include "conformance/runner/environment.h"

#include <stdlib.h>

#include <map>

#include "absl/strings/str_cat.h"

namespace reprise::conformance {

const std::vector<std::string>& PassedVariables() {
  static const auto* const names = new std::vector<std::string>{
      "PATH",
      "LANG",
      "LC_ALL",
      "LC_CTYPE",
      "TZ",
      "LD_LIBRARY_PATH",
      "PYTHONPATH",
      "VIRTUAL_ENV",
      "CONDA_PREFIX",
      "CUDA_HOME",
      "CUDA_VISIBLE_DEVICES",
      "NVIDIA_VISIBLE_DEVICES",
      "OMP_NUM_THREADS",
      "MKL_NUM_THREADS",
  };
  return *names;
}

std::vector<std::string> TesteeEnvironment(
    const std::vector<std::string>& also_pass, const std::string& home,
    const std::string& temporary) {
  std::map<std::string, std::string> variables = {
      {"PATH", "/usr/local/bin:/usr/bin:/bin"},
      {"HOME", home},
      {"TMPDIR", temporary},
  };
  const auto pass = [&variables](const std::string& name) {
    const char* value = getenv(name.c_str());
    if (value != nullptr) variables[name] = value;
  };
  for (const std::string& name : PassedVariables()) pass(name);
  for (const std::string& entry : also_pass) {
    const size_t equals = entry.find('=');
    if (equals == std::string::npos) {
      pass(entry);
    } else {
      variables[entry.substr(0, equals)] = entry.substr(equals + 1);
    }
  }
  std::vector<std::string> entries;
  for (const auto& [name, value] : variables) {
    entries.push_back(absl::StrCat(name, "=", value));
  }
  return entries;
}

}  // namespace reprise::conformance
