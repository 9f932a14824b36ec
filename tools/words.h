// Names of the results in readable words, and numbers as people write them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sim/run/store.h"

namespace marea::cli {

std::string cause_words(std::string_view cause);  // of the time ledger: "queue: no free KV blocks"
std::string owner_words(std::string_view owner);  // of the memory ledger: "waits for a tool"

std::string count(std::int64_t value);                                                // "19,366"
std::string count(double value);                                                      // rounded
std::string plural(std::int64_t value, std::string_view one, std::string_view many);  // "1 call", "2 calls"
std::string percent(double fraction, int digits = 1);                                 // "41.2 %"
std::string shown(double value, std::string_view unit);  // by the unit of the catalogue: "1.25 s", "0.041 /s", "12.4 ktok"

// Unit and definition of an emitted metric, for the store.
run::MetricText metric_text(std::string_view name);

}  // namespace marea::cli
