// Grouping rows into fits, and writing what came out.
#include "sim/cost/fit/calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "sim/base/quantity.h"

namespace marea::cost {

namespace {

int number(const std::optional<spec::Format>& format) { return format ? static_cast<int>(spec::at(*format)) : -1; }

// Of the rows of one case the best: captured before eager, then the fastest.
std::vector<Timing> distinct(std::vector<Timing> rows) {
  const auto same = [](const Timing& row) {
    auto measure = row.measure;
    for (const Measure aside : {Measure::graph, Measure::noise}) measure[static_cast<std::size_t>(aside)] = 0;
    return measure;
  };
  std::stable_sort(rows.begin(), rows.end(), [&](const Timing& a, const Timing& b) {
    return std::tuple(same(a), -a[Measure::graph], a.seconds) < std::tuple(same(b), -b[Measure::graph], b.seconds);
  });
  rows.erase(std::unique(rows.begin(), rows.end(), [&](const Timing& a, const Timing& b) { return same(a) == same(b); }), rows.end());
  return rows;
}

// Who measured the rows, in words.
std::string source_of(const std::vector<Timing>& rows, const Timings& timings) {
  constexpr std::size_t kNamed = 6;
  std::map<std::uint32_t, std::size_t> count;
  for (const Timing& row : rows) ++count[row.source];
  std::vector<std::string> names;
  for (const auto& [source, times] : count)
    names.push_back(timings.sources[source].empty() ? "an unnamed source" : timings.sources[source]);
  std::sort(names.begin(), names.end());
  if (names.size() <= kNamed) return fmt::format("{}", fmt::join(names, ", "));
  const std::size_t more = names.size() - kNamed;
  names.resize(kNamed);
  return fmt::format("{} and {} more", fmt::join(names, ", "), more);
}

std::string percent(double share) { return shortest(std::round(share * 1e4) / 100) + " %"; }

std::string quantiles_text(const spec::ErrorQuantiles& q) {
  return fmt::format("{{median: {}, p90: {}, p99: {}}}", percent(q.median), percent(q.p90), percent(q.p99));
}

std::string record_text(const spec::FitRecord& record) {
  std::vector<std::string> ranges;
  for (int i = 0; i < spec::kExtents; ++i) {
    const auto extent = static_cast<spec::Extent>(i);
    const spec::Range& range = record.range(extent);
    if (std::isfinite(range.most))
      ranges.push_back(fmt::format("{}: [{}, {}]", spec::name(extent), shortest(range.least), shortest(range.most)));
  }
  return fmt::format("{{rows: {}, shapes: {}, held_out: {}, in_sample: {}, range: {{{}}}}}", record.rows, record.shapes,
                     quantiles_text(record.held_out), quantiles_text(record.in_sample), fmt::join(ranges, ", "));
}

}  // namespace

namespace {

// Rows that are fitted together.
struct Group {
  Operation operation;
  int format;  // -1: it does not matter
  int kv;
  double ranks;
  auto operator<=>(const Group&) const = default;
};

Group group_of(const Timing& row) {
  switch (row.operation) {
    case Operation::gemm:
    case Operation::experts:
      return {row.operation, number(row.format), -1, 0};
    case Operation::all_reduce:
      return {row.operation, -1, -1, row[Measure::ranks]};
    case Operation::small_kernels:
      return {row.operation, -1, -1, 0};
    default:
      return {row.operation, -1, number(row.kv), 0};
  }
}

Block fit(const Group& group, const std::vector<Timing>& rows, const spec::Device& device, const ProductLaw& products, const Mark& place) {
  switch (group.operation) {
    case Operation::decode_attention:
    case Operation::decode_latent:
      return fit_decode(rows, device, products, place);
    case Operation::prefill_attention:
    case Operation::prefill_latent:
      return fit_prefill(rows, device, products, place);
    case Operation::decode_sparse:
    case Operation::prefill_sparse:
      return fit_sparse(rows, device, products, place);
    case Operation::experts:
      return fit_experts(rows, device, place);
    case Operation::all_reduce:
      return fit_all_reduce(rows, place);
    default:
      return fit_small_kernels(rows, device, place);
  }
}

bool has_law(Operation operation) { return operation <= Operation::all_reduce || operation == Operation::small_kernels; }

}  // namespace

namespace {

constexpr double kNoisy = 0.25;  // a median that is not known to a quarter says nothing

}  // namespace

Calibration calibrate(const Timings& timings, const spec::Device& device, const Mark& place) {
  std::map<Group, std::vector<Timing>> groups;
  bool whole_blocks = false;
  for (const Timing& row : timings.rows) {
    if (row[Measure::noise] > kNoisy) continue;
    if (has_law(row.operation)) groups[group_of(row)].push_back(row);
    whole_blocks = whole_blocks || row.with_products;
  }
  Calibration calibration;
  calibration.name = calibration.device = device.name;
  ProductLaw products;
  for (auto& [group, rows] : groups) {
    const std::vector<Timing> used = distinct(std::move(rows));
    Block block;
    if (group.operation == Operation::gemm) {
      FittedGemm fitted = fit_gemm(used, device, place);
      if (group.format == static_cast<int>(spec::Format::bf16)) products = fitted.law;
      block = std::move(fitted.block);
    } else {
      if (whole_blocks && !products)
        throw ConfigError(place, "", "latent attention blocks hold their dense products; give the table of 16-bit products as well");
      block = fit(group, used, device, products, place);
    }
    block.source = source_of(used, timings);
    calibration.blocks.push_back(std::move(block));
  }
  return calibration;
}

namespace {

// A block as a file states it, without its provenance.
Block stated(std::string_view law, std::string format, const Tree& tree, const std::string& base) {
  Block block;
  block.law = law;
  block.format = std::move(format);
  block.status = spec::Status::assumed;
  block.source = "coefficients of " + base + " stand in: nothing was measured";
  for (const TreeEntry& entry : tree.entries)
    if (entry.value.kind == Tree::Kind::scalar && entry.key != "status" && entry.key != "source" && entry.key != "ranks")
      block.values.emplace_back(entry.key, entry.value.text);
  return block;
}

}  // namespace

void complete_from(Calibration& calibration, const Tree& costs, const std::string& base) {
  const auto add = [&](Block block) {
    const auto same = [&](const Block& one) { return one.law == block.law && one.format == block.format; };
    if (std::none_of(calibration.blocks.begin(), calibration.blocks.end(), same)) calibration.blocks.push_back(std::move(block));
  };
  for (const TreeEntry& law : costs.entries) {
    if (law.value.kind == Tree::Kind::list)
      for (const Tree& item : law.value.items) add(stated(law.key, item.find("ranks") ? item.find("ranks")->text : "", item, base));
    if (law.value.kind != Tree::Kind::map) continue;
    const bool by_format = std::any_of(law.value.entries.begin(), law.value.entries.end(),
                                       [](const TreeEntry& entry) { return entry.value.kind == Tree::Kind::map && entry.key != "fit"; });
    if (!by_format) add(stated(law.key, "", law.value, base));
    if (!by_format) continue;
    for (const TreeEntry& format : law.value.entries) add(stated(law.key, format.key, format.value, base));
  }
  std::stable_sort(calibration.blocks.begin(), calibration.blocks.end(), [](const Block& a, const Block& b) {
    if (a.law != b.law || a.law != "all_reduce") return a.law < b.law;
    return std::stol(a.format) < std::stol(b.format);
  });
}

std::string to_yaml(const Calibration& calibration) {
  std::vector<std::string> sources;
  for (const Block& block : calibration.blocks)
    if (std::find(sources.begin(), sources.end(), block.source) == sources.end()) sources.push_back(block.source);
  const auto quoted = [](const std::string& text) { return nlohmann::json(text).dump(); };
  const auto source = [&](const Block& block) {
    return fmt::format("kernels_{}", std::find(sources.begin(), sources.end(), block.source) - sources.begin() + 1);
  };
  std::string text = fmt::format("name: {}\n", calibration.name);
  if (!calibration.about.empty()) text += fmt::format("about: {}\n", quoted(calibration.about));
  text += fmt::format("device: {}\nsources:\n", calibration.device);
  for (std::size_t i = 0; i < sources.size(); ++i) text += fmt::format("  kernels_{}: {}\n", i + 1, quoted(sources[i]));
  text += "costs:\n";
  std::string law;
  for (const Block& block : calibration.blocks) {
    if (block.law != law) text += fmt::format("  {}:\n", block.law);
    law = block.law;
    const bool listed = law == "all_reduce";
    std::string indent = block.format.empty() ? "    " : "      ";
    if (listed)
      text += fmt::format("    - ranks: {}\n", block.format);
    else if (!block.format.empty())
      text += fmt::format("    {}:\n", block.format);
    for (const auto& [key, value] : block.values) text += fmt::format("{}{}: {}\n", indent, key, value);
    text += fmt::format("{0}status: {1}\n{0}source: {2}\n", indent, spec::name(block.status), source(block));
    if (block.record.rows > 0) text += fmt::format("{}fit: {}\n", indent, record_text(block.record));
  }
  return text;
}

}  // namespace marea::cost
