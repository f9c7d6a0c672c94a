// The fake trainer as a testee (testee.h).
#include "conformance/fake/testee.h"

int main(int argc, char** argv) {
  return reprise::conformance::fake::TesteeMain(argc, argv, {});
}
