// Where this marea finds what it ships: ../share/marea beside its own folder, in an installation and in a build folder alike.
#pragma once

#include "sim/run/search_path.h"

namespace marea::cli {

// The folders of MAREA_PATH (separated by colons), then the shipped ones.
run::SearchPath search_path();

}  // namespace marea::cli
