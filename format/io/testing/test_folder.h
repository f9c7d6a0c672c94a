// A folder on the real file system for the running test.
//
//   const std::string folder = FreshTestFolder();
#ifndef REPRISE_FORMAT_IO_TESTING_TEST_FOLDER_H_
#define REPRISE_FORMAT_IO_TESTING_TEST_FOLDER_H_

#include <string>

namespace reprise {

// A fresh empty folder for the running test, on the real file system. Called
// again in the same test: the same folder, emptied.
std::string FreshTestFolder();

}  // namespace reprise

#endif  // REPRISE_FORMAT_IO_TESTING_TEST_FOLDER_H_
