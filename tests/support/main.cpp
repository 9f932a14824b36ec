// The main of every test program: doctest's own, plus a closing line that says what was skipped for want of the shared data.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdio>

#include "tests/support/shared.h"

int main(int argc, char** argv) {
  doctest::Context context(argc, argv);
  const int result = context.run();
  if (marea::test::skipped() > 0)
    std::printf("SKIPPED %d checks: no shared data (set MAREA_SHARED to the folder that holds data/)\n", marea::test::skipped());
  return result;
}
