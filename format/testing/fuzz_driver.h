// What fuzz targets share. A target is a function over any bytes that stops the
// process when a promise does not hold:
//
//   extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
//     ...
//     FUZZ_EXPECT(again == bytes, "what was decoded encodes to other bytes");
//     return 0;
//   }
//
// libFuzzer calls it under --config=fuzz; elsewhere fuzz_driver.cc does, with
// the seeds and a short random run (format/testing/fuzz_target.bzl).
#ifndef REPRISE_FORMAT_TESTING_FUZZ_DRIVER_H_
#define REPRISE_FORMAT_TESTING_FUZZ_DRIVER_H_

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

// Stops the process, so that libFuzzer or the driver keeps the input.
#define FUZZ_EXPECT(condition, promise)                                 \
  do {                                                                  \
    if (!(condition)) {                                                 \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, promise); \
      std::abort();                                                     \
    }                                                                   \
  } while (false)

#endif  // REPRISE_FORMAT_TESTING_FUZZ_DRIVER_H_
