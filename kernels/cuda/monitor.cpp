// NVML by its documented entry points; its header is not part of the toolkit everywhere.
#include "kernels/cuda/monitor.h"

#include <dlfcn.h>

#include <algorithm>
#include <vector>

namespace marea::probe::cuda {

namespace {

using Device = void*;
enum ClockKind { sm_clock = 1, memory_clock = 2 };
constexpr unsigned long long kSlowed = 0x8 | 0x20 | 0x40 | 0x80;  // hardware, software thermal, hardware thermal, power brake

// The functions that are used; null where the library lacks one.
struct Library {
  int (*initialise)() = nullptr;
  int (*by_address)(const char*, Device*) = nullptr;
  int (*clock)(Device, int, unsigned*) = nullptr;
  int (*highest_clock)(Device, int, unsigned*) = nullptr;
  int (*reasons)(Device, unsigned long long*) = nullptr;
  int (*driver)(char*, unsigned) = nullptr;
  int (*power_limit)(Device, unsigned*) = nullptr;
  int (*temperature)(Device, int, unsigned*) = nullptr;
};

template <class Function>
void find(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(::dlsym(library, name));
}

struct Watch {
  Library library;
  Device device = nullptr;
  unsigned highest = 0;  // MHz
  std::vector<unsigned> seen;
};

Watch& state() {
  static Watch watch;
  return watch;
}

}  // namespace

void watch(const std::string& pci_address) {
  void* file = ::dlopen("libnvidia-ml.so.1", RTLD_NOW);
  if (file == nullptr) return;
  Library library;
  find(file, "nvmlInit_v2", library.initialise);
  find(file, "nvmlDeviceGetHandleByPciBusId_v2", library.by_address);
  find(file, "nvmlDeviceGetClockInfo", library.clock);
  find(file, "nvmlDeviceGetMaxClockInfo", library.highest_clock);
  find(file, "nvmlDeviceGetCurrentClocksThrottleReasons", library.reasons);
  find(file, "nvmlSystemGetDriverVersion", library.driver);
  find(file, "nvmlDeviceGetPowerManagementLimit", library.power_limit);
  find(file, "nvmlDeviceGetTemperature", library.temperature);
  if (library.initialise == nullptr || library.by_address == nullptr || library.initialise() != 0) return;
  Device device = nullptr;
  if (library.by_address(pci_address.c_str(), &device) != 0) return;
  state().library = library;
  state().device = device;
  if (library.highest_clock != nullptr) library.highest_clock(device, sm_clock, &state().highest);
}

bool throttled() {
  Watch& watch = state();
  if (watch.device == nullptr) return false;
  unsigned clock = 0;
  if (watch.library.clock != nullptr && watch.library.clock(watch.device, sm_clock, &clock) == 0) watch.seen.push_back(clock);
  unsigned long long reasons = 0;
  if (watch.library.reasons != nullptr && watch.library.reasons(watch.device, &reasons) == 0 && (reasons & kSlowed) != 0) return true;
  return clock > 0 && 2 * clock < watch.highest;
}

std::map<std::string, std::string> watched() {
  Watch& watch = state();
  if (watch.device == nullptr) return {{"clocks", "unknown: no NVML"}};
  std::map<std::string, std::string> out;
  const auto number = [&](const char* name, int status, unsigned value) {
    if (status == 0) out[name] = std::to_string(value);
  };
  const Library& library = watch.library;
  char driver[96] = {};
  if (library.driver != nullptr && library.driver(driver, sizeof driver) == 0) out["driver"] = driver;
  unsigned value = 0;
  if (watch.highest > 0) out["sm_clock_mhz_limit"] = std::to_string(watch.highest);
  if (library.highest_clock != nullptr) number("memory_clock_mhz_limit", library.highest_clock(watch.device, memory_clock, &value), value);
  if (library.clock != nullptr) number("memory_clock_mhz", library.clock(watch.device, memory_clock, &value), value);
  if (library.power_limit != nullptr) number("power_limit_mw", library.power_limit(watch.device, &value), value);
  if (library.temperature != nullptr) number("temperature_c", library.temperature(watch.device, 0, &value), value);
  if (!watch.seen.empty()) {
    std::vector<unsigned> seen = watch.seen;
    std::sort(seen.begin(), seen.end());
    out["sm_clock_mhz_lowest"] = std::to_string(seen.front());
    out["sm_clock_mhz_median"] = std::to_string(seen[seen.size() / 2]);
    out["sm_clock_mhz_highest"] = std::to_string(seen.back());
  }
  return out;
}

}  // namespace marea::probe::cuda
