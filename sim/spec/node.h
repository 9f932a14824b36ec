// One server: devices of one kind, host memory, drives and network.
#pragma once

#include <optional>
#include <string>

#include "sim/spec/device.h"

namespace marea::spec {

struct Node {
  std::string name;
  std::string about;
  std::int64_t count = 0;  // devices
  Device device;
  struct Memory {
    Bytes capacity{};
    Bandwidth bandwidth{};
    Origin origin;
  } dram;
  struct Drives {
    std::int64_t count = 0;
    Bytes capacity{};  // of all drives
    Bandwidth read{};  // of all drives
    Bandwidth write{};
    Origin origin;
  };
  std::optional<Drives> nvme;
  struct Network {
    std::int64_t count = 0;
    Bandwidth bandwidth{};  // of one adapter, per direction
    Origin origin;
  };
  std::optional<Network> network;
};

// Reads a node whose `device` is the map of a device (names are spliced in before).
Node read_node(const Value& value);

}  // namespace marea::spec
