// Printing quantities with the units people read them in. Reading is in section.h.
#pragma once

#include <string>

#include "sim/base/units.h"

namespace marea {

// For people: three to four significant digits and the largest fitting unit ("1.25 s", "80 GB", "12.4 ktok").
std::string show(Duration value);
std::string show_range(Duration low, Duration high);  // "0.031 to 1.25 s": both in the unit that `high` is shown in
std::string show(Bytes value);                        // decimal units
std::string show_binary(Bytes value);                 // KiB, MiB, GiB
std::string show(Tokens value);
std::string show(Rate value);
std::string show(Bandwidth value);
std::string show(FlopRate value);
std::string show_percent(double fraction);

// For files: exact and accepted back by Value ("90000000 ns" prints as "90 ms", never rounded). Negative values print with their sign,
// which Value refuses.
std::string exact(Duration value);
std::string exact(Bytes value);
std::string exact(Tokens value);
std::string exact(Rate value);
std::string exact(Bandwidth value);
std::string exact(FlopRate value);
std::string exact(Watts value);
std::string exact(DollarsPerHour value);

// The shortest decimal text that reads back as the same double ("0.1"); "inf" and "nan" for what is not finite.
std::string shortest(double value);

}  // namespace marea
