// 128-bit integers for sums that outgrow 64 bits. GCC and Clang have them as an extension of ISO C++; this is the one place that says so.
#pragma once

namespace marea {

__extension__ typedef __int128 Int128;
__extension__ typedef unsigned __int128 Uint128;

}  // namespace marea
