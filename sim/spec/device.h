// One accelerator: memory, arithmetic, links, power, price, and the coefficients of its step costs.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "sim/base/units.h"
#include "sim/spec/coefficients.h"
#include "sim/spec/model.h"

namespace marea::spec {

// What the runtime takes from device memory before any weight or KV.
struct RuntimeReserve {
  Bytes context{};        // driver context and kernels
  Bytes communication{};  // buffers of the collectives library, when there is more than one rank
  Bytes graphs{};         // captured graphs
  Origin origin;
};

// The place of a format in a device's tables by format: fp16 multiplies like bf16 and shares its place.
inline std::size_t at(Format format) { return static_cast<std::size_t>(format == Format::fp16 ? Format::bf16 : format); }

struct Device {
  std::string name;
  std::string about;
  struct Memory {
    Bytes capacity{};  // usable: what the driver reports
    Bandwidth bandwidth{};
    Bytes cache{};  // last one before memory; 0: not stated
    Origin origin;
  } memory;
  struct Compute {
    std::int64_t units = 0;                              // streaming multiprocessors or compute units
    std::array<std::optional<FlopRate>, kFormats> peak;  // dense, by format of the operands
    Origin origin;
  } compute;
  struct Link {
    Bandwidth bandwidth{};  // per direction
    Origin origin;
  };
  Link scale_up;
  std::int64_t scale_up_domain = 1;  // devices
  Link host_link;
  Watts power{};                      // of the board
  std::optional<Watts> power_all_in;  // with its share of the data centre
  Origin power_origin;
  std::optional<DollarsPerHour> price;
  Origin price_origin;
  RuntimeReserve reserve;
  std::string calibration;  // whose coefficients these are, as far as the device states none itself; empty: its own alone
  StepCosts costs;

  // The GEMM coefficients for weights in a format. A format that the device cannot multiply in runs weight-only: 16-bit coefficients, the
  // bytes of the format; status assumed.
  GemmCost gemm(Format weights) const;
  ExpertsCost experts(Format weights) const;
  FlopRate peak(Format math) const;  // check()s that there is one
};

// A device as its file states it. Under `calibration` stands the map of a calibration file (not its name): its `costs` count where the
// device's own `costs` state nothing, and both files' `sources` may be named.
Device read_device(const Value& value);
// Lays a device's own `costs` over those of a calibration, key by key; collectives join by their number of ranks.
void lay_over(Tree& costs, const Tree& own);
// The same without its coefficients: all that a fit of them needs, and all that a device has before one.
Device read_hardware(const Value& value);

}  // namespace marea::spec
