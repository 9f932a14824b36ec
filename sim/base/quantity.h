// Printing quantities with the units people read them in. Reading is in section.h.
#pragma once

#include <string>

#include "sim/base/units.h"

namespace marea {

// For people: three to four significant digits and the largest fitting unit ("1.25 s", "80 GB", "12.4 ktok").
std::string show(Duration value);
std::string show(Bytes value);         // decimal units
std::string show_binary(Bytes value);  // KiB, MiB, GiB
std::string show(Tokens value);
std::string show(Rate value);
std::string show(Bandwidth value);
std::string show(FlopRate value);
std::string show_percent(double fraction);

// For files: exact and accepted back by Value ("90000000 ns" prints as "90 ms", never rounded).
std::string exact(Duration value);
std::string exact(Bytes value);

}  // namespace marea
