// The shipped models, devices and nodes as tests read them: straight from the source folder, a node with its device spliced in.
#pragma once

#include <string>

#include "sim/spec/deployment.h"
#include "sim/spec/host.h"
#include "sim/spec/node.h"

namespace marea::test {

inline Tree catalogue_tree(const std::string& folder, const std::string& name) {
  return read_yaml(std::string(MAREA_SOURCE_DIR) + "/" + folder + "/" + name + ".yaml");
}

inline spec::Model model(const std::string& name) {
  const Tree tree = catalogue_tree("models", name);
  return spec::read_model(Value(tree, "model"));
}

// A device with its calibration spliced in.
inline Tree device_tree(const std::string& name) {
  Tree tree = catalogue_tree("hardware/devices", name);
  if (Tree* calibration = tree.find("calibration")) *calibration = catalogue_tree("hardware/calibration", calibration->text);
  return tree;
}

inline spec::Device device(const std::string& name) {
  const Tree tree = device_tree(name);
  return spec::read_device(Value(tree, "device"));
}

inline spec::HostCost host(const std::string& engine) {
  const Tree tree = read_yaml(std::string(MAREA_SOURCE_DIR) + "/hardware/engines/" + engine + ".yaml");
  return spec::read_host(Value(tree, "serving.host"));
}

inline Tree node_tree(const std::string& name) {
  Tree tree = catalogue_tree("hardware/nodes", name);
  Tree* device = tree.find("device");
  check(device != nullptr, "a node without a device");
  *device = device_tree(device->text);
  return tree;
}

inline spec::Node node(const std::string& name) {
  const Tree tree = node_tree(name);
  return spec::read_node(Value(tree, "node"));
}

}  // namespace marea::test
