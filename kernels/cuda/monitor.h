// Clocks and throttling of the GPU through the driver's management library (NVML), loaded when present. Without it nothing is known and no
// sample is dropped.
#pragma once

#include <map>
#include <string>

namespace marea::probe::cuda {

// Starts watching the device at this PCI address, such as "0000:1b:00.0".
void watch(const std::string& pci_address);

// Whether the device runs slowed by heat or by its power supply, or below half its highest clock. Running into the power limit does not
// count: a serving device does that too, and the clocks say it. Each call adds the present clock to those that `watched` reports.
bool throttled();

// Driver, highest clocks, limits, and the lowest, median and highest SM clock seen.
std::map<std::string, std::string> watched();

}  // namespace marea::probe::cuda
