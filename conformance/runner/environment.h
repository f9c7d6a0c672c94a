// The environment variables that a testee gets.
#ifndef REPRISE_CONFORMANCE_RUNNER_ENVIRONMENT_H_
#define REPRISE_CONFORMANCE_RUNNER_ENVIRONMENT_H_

#include <string>
#include <vector>

namespace reprise::conformance {

// Passed on from the harness's own environment when they are set there. All
// others are not, so that a run does not depend on who started it.
//
//   PATH LANG LC_ALL LC_CTYPE TZ LD_LIBRARY_PATH PYTHONPATH VIRTUAL_ENV
//   CONDA_PREFIX CUDA_HOME CUDA_VISIBLE_DEVICES NVIDIA_VISIBLE_DEVICES
//   OMP_NUM_THREADS MKL_NUM_THREADS
const std::vector<std::string>& PassedVariables();

// "NAME=value" entries: the variables above; those named in `also_pass` (a name
// takes the harness's value, "NAME=value" sets one); HOME = `home` and TMPDIR =
// `temporary` unless `also_pass` names them; a PATH in any case. Sorted, each
// name once, `also_pass` wins.
std::vector<std::string> TesteeEnvironment(
    const std::vector<std::string>& also_pass, const std::string& home,
    const std::string& temporary);

}  // namespace reprise::conformance

#endif  // REPRISE_CONFORMANCE_RUNNER_ENVIRONMENT_H_
