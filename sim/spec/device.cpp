// Reading a device, and which coefficients serve a format that it has none for.
#include "sim/spec/device.h"

#include <map>
#include <utility>

namespace marea::spec {

namespace {

// Lists of collectives as one, by number of ranks; where both have one, the device's own counts.
void join_collectives(Tree& costs, const Tree& own) {
  Tree* list = costs.find("all_reduce");
  const Tree* more = own.find("all_reduce");
  if (list == nullptr || more == nullptr || list->kind != Tree::Kind::list || more->kind != Tree::Kind::list) return;
  std::map<std::int64_t, Tree> joined;
  for (const Tree* each : {static_cast<const Tree*>(list), more})
    for (const Tree& item : each->items)
      joined.insert_or_assign(Section(Value(item, "all_reduce")).required("ranks").integer(2, 1 << 20), item);
  list->items.clear();
  for (auto& [ranks, item] : joined) list->items.push_back(std::move(item));
}

}  // namespace

void lay_over(Tree& costs, const Tree& own) {
  Tree over = own;
  join_collectives(costs, over);
  if (const Tree* all = costs.find("all_reduce"); all != nullptr && over.find("all_reduce") != nullptr) *over.find("all_reduce") = *all;
  merge(costs, over);
}

namespace {

Device::Memory read_memory(const Value& value, const Sources& sources) {
  Section section(value);
  Device::Memory memory;
  memory.capacity = section.required("capacity").bytes(Bytes{1});
  memory.bandwidth = section.required("bandwidth").bandwidth();
  if (const std::optional<Value> cache = section.optional("cache")) memory.cache = cache->bytes();
  memory.origin = sources.read(section);
  section.close();
  return memory;
}

Device::Compute read_compute(const Value& value, const Sources& sources) {
  Section section(value);
  Device::Compute compute;
  compute.units = section.required("units").integer(1, 100'000);
  for (const Format format : kAllFormats)
    if (const std::optional<Value> peak = section.optional(name(format))) compute.peak[at(format)] = peak->flops();
  if (!compute.peak[at(Format::bf16)]) section.fail("no `bf16`; every device states its 16-bit FLOP/s");
  compute.origin = sources.read(section);
  section.close();
  return compute;
}

Device::Link read_link(Section& section, const Sources& sources) {
  Device::Link link;
  link.bandwidth = section.required("bandwidth").bandwidth();
  link.origin = sources.read(section);
  return link;
}

RuntimeReserve read_reserve(const Value& value, const Sources& sources) {
  Section section(value);
  RuntimeReserve reserve;
  reserve.context = section.required("context").bytes();
  reserve.communication = section.required("communication").bytes();
  reserve.graphs = section.required("graphs").bytes();
  reserve.origin = sources.read(section);
  section.close();
  return reserve;
}

void read_power_and_price(Section& section, const Sources& sources, Device& device) {
  Section power(section.required("power"));
  device.power = power.required("board").watts();
  if (const std::optional<Value> all_in = power.optional("all_in")) device.power_all_in = all_in->watts();
  device.power_origin = sources.read(power);
  power.close();
  if (const std::optional<Value> value = section.optional("price")) {
    Section price(*value);
    device.price = price.required("hour").dollars_per_hour();
    device.price_origin = sources.read(price);
    price.close();
  }
}

// The costs of the calibration with the device's own laid over them, key by key.
Tree merged_costs(Section& section, Sources& sources, Device& device) {
  Tree costs;
  costs.kind = Tree::Kind::map;
  costs.mark = section.mark();
  if (const std::optional<Value> value = section.optional("calibration")) {
    if (!value->is_map()) value->fail("expected the map of a calibration; its name is looked up only where a scenario names the device");
    Section calibration(*value);
    sources.add(calibration);
    device.calibration = calibration.required("name").text();
    for (const char* words : {"about", "device"})
      if (const std::optional<Value> text = calibration.optional(words)) static_cast<void>(text->text());
    costs = calibration.required("costs").tree();
    calibration.close();
  }
  if (const std::optional<Value> own = section.optional("costs")) lay_over(costs, own->tree());
  return costs;
}

// Every `math` that the coefficients name must be a format with FLOP/s.
void check_math(const Section& section, const Device& device) {
  for (const auto& gemm : device.costs.gemm)
    if (gemm && !device.compute.peak[at(gemm->math)])
      section.fail("`costs.gemm` multiplies in " + std::string(name(gemm->math)) + ", for which `compute` states no FLOP/s");
  for (const auto& experts : device.costs.experts)
    if (experts && !device.compute.peak[at(experts->math)])
      section.fail("`costs.experts` multiplies in " + std::string(name(experts->math)) + ", for which `compute` states no FLOP/s");
}

template <class Cost>
Cost coefficients(const std::array<std::optional<Cost>, kFormats>& all, Format weights, const char* missing) {
  if (all[at(weights)]) return *all[at(weights)];
  check(all[at(Format::bf16)].has_value(), missing);
  Cost cost = *all[at(Format::bf16)];
  cost.origin = {Status::assumed, "weight-only: the 16-bit coefficients with the bytes of " + std::string(name(weights))};
  return cost;
}

}  // namespace

GemmCost Device::gemm(Format weights) const { return coefficients(costs.gemm, weights, "a device without gemm coefficients"); }

ExpertsCost Device::experts(Format weights) const { return coefficients(costs.experts, weights, "a device without expert coefficients"); }

FlopRate Device::peak(Format math) const {
  const std::optional<FlopRate>& rate = compute.peak[at(math)];
  check(rate.has_value(), "a device without FLOP/s for the format it is asked to multiply in");
  return *rate;
}

namespace {

// All but the coefficients; leaves `costs` and `calibration` in the section.
Device read_sheet(Section& section, const Sources& sources) {
  Device device;
  device.name = section.required("name").text();
  if (const std::optional<Value> about = section.optional("about")) device.about = about->text();
  device.memory = read_memory(section.required("memory"), sources);
  device.compute = read_compute(section.required("compute"), sources);
  Section scale_up(section.required("scale_up"));
  device.scale_up_domain = scale_up.required("domain").integer(1, 1 << 20);
  device.scale_up = read_link(scale_up, sources);
  scale_up.close();
  Section host_link(section.required("host_link"));
  device.host_link = read_link(host_link, sources);
  host_link.close();
  read_power_and_price(section, sources, device);
  device.reserve = read_reserve(section.required("reserve"), sources);
  return device;
}

}  // namespace

Device read_device(const Value& value) {
  Section section(value);
  Sources sources(section);
  Device device = read_sheet(section, sources);
  const Tree costs = merged_costs(section, sources, device);
  device.costs = read_step_costs(Value(costs, section.path().empty() ? "costs" : section.path() + ".costs"), sources);
  check_math(section, device);
  section.close();
  return device;
}

Device read_hardware(const Value& value) {
  Section section(value);
  const Sources sources(section);
  Device device = read_sheet(section, sources);
  for (const char* later : {"calibration", "costs"}) static_cast<void>(section.optional(later));
  section.close();
  return device;
}

}  // namespace marea::spec
