// A run as one JSON value or as CSV, with the names of the store.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/summary.h"

namespace marea::cli {

nlohmann::ordered_json document(const Told& told);

// name,label,unit,value,low,high,samples
std::string metrics_csv(const metrics::Results& results);

// A field of a CSV row, quoted where it must be.
std::string csv_field(const std::string& text);

}  // namespace marea::cli
