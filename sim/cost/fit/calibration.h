// From tables of timings to the coefficients of a device, and their file.
#pragma once

#include <string>
#include <vector>

#include "sim/cost/fit/fits.h"

namespace marea::cost {

struct Calibration {
  std::string name;
  std::string device;
  std::string about;
  std::vector<Block> blocks;  // in the order of a file
};

// Fits every law that the timings have rows for. Of rows that describe the same case, those in a captured graph go before eager ones, then
// the fastest counts: it is what an engine would choose. Rows whose stated noise is above a quarter are passed over. Throws ConfigError at
// `place` for a group with too few rows.
Calibration calibrate(const Timings& timings, const spec::Device& device, const Mark& place);

// Adds blocks of `costs` (of a device called `base`) for every law and format that the calibration has none for, as assumed.
void complete_from(Calibration& calibration, const Tree& costs, const std::string& base);

// The file of a calibration, as spec::read_device() accepts it under `calibration`.
std::string to_yaml(const Calibration& calibration);

}  // namespace marea::cost
