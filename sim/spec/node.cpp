// Reading a node.
#include "sim/spec/node.h"

namespace marea::spec {

namespace {

Node::Memory read_dram(const Value& value, const Sources& sources) {
  Section section(value);
  Node::Memory dram;
  dram.capacity = section.required("capacity").bytes(Bytes{1});
  dram.bandwidth = section.required("bandwidth").bandwidth();
  dram.origin = sources.read(section);
  section.close();
  return dram;
}

Node::Drives read_drives(const Value& value, const Sources& sources) {
  Section section(value);
  Node::Drives drives;
  drives.count = section.required("count").integer(1, 10'000);
  drives.capacity = section.required("capacity").bytes(Bytes{1});
  drives.read = section.required("read").bandwidth();
  drives.write = section.required("write").bandwidth();
  drives.origin = sources.read(section);
  section.close();
  return drives;
}

Node::Network read_network(const Value& value, const Sources& sources) {
  Section section(value);
  Node::Network network;
  network.count = section.required("count").integer(1, 10'000);
  network.bandwidth = section.required("bandwidth").bandwidth();
  network.origin = sources.read(section);
  section.close();
  return network;
}

}  // namespace

Node read_node(const Value& value) {
  Section section(value);
  const Sources sources(section);
  Node node;
  node.name = section.required("name").text();
  if (const std::optional<Value> about = section.optional("about")) node.about = about->text();
  node.count = section.required("count").integer(1, 100'000);
  node.device = read_device(section.required("device"));
  node.dram = read_dram(section.required("dram"), sources);
  if (const std::optional<Value> nvme = section.optional("nvme")) node.nvme = read_drives(*nvme, sources);
  if (const std::optional<Value> network = section.optional("network")) node.network = read_network(*network, sources);
  section.close();
  return node;
}

}  // namespace marea::spec
