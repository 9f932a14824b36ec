// The column mappings, one function a kind of table.
#include "sim/cost/fit/public_tables.h"

#include <array>
#include <filesystem>
#include <map>

#include "sim/base/input.h"
#include "sim/base/text.h"

namespace marea::cost {

namespace {

// ai-dynamo/aiconfigurator: SYSTEM.ENGINE-VERSION.TABLE.csv.gz, milliseconds.
class Aiconfigurator {
 public:
  Aiconfigurator(const std::string& file, Timings& into) : csv_(file), into_(into) {
    const std::string stem = std::filesystem::path(file).filename().string();
    const std::size_t first = stem.find('.');
    const std::size_t table = stem.find("." + table_name(), first);
    engine_ = first == std::string::npos || table == std::string::npos ? "aiconfigurator" : stem.substr(first + 1, table - first - 1);
  }

  static bool knows(const CsvReader& csv) { return csv.has("latency_ms"); }

  void read() {
    if (csv_.has("gemm_dtype") && csv_.has("m")) return each([&] { return gemm(); });
    throw ConfigError({csv_.mark(0).file, 1, 0}, "", "is a table of aiconfigurator that no law here is fitted to");
  }

 private:
  std::string table_name() const { return csv_.has("gemm_dtype") && csv_.has("m") ? "gemm" : ""; }

  template <class Row>
  void each(Row row) {
    while (csv_.next()) {
      timing_ = {};
      timing_.seconds = csv_.number(csv_.column("latency_ms"), 1e-9, 1e15) * 1e-3;
      if (!row()) continue;
      std::string source = engine_;
      if (csv_.has("kernel_source")) source += " " + std::string(csv_.field(csv_.column("kernel_source")));
      timing_.source = into_.source(source);
      into_.rows.push_back(timing_);
    }
  }

  void take(Measure measure, std::string_view column) { timing_[measure] = csv_.number(csv_.column(column), 0, 1e18); }

  std::optional<spec::Format> format(std::string_view column) const {
    static const std::map<std::string, spec::Format, std::less<>> known{
        {"bfloat16", spec::Format::bf16}, {"fp8", spec::Format::fp8}, {"nvfp4", spec::Format::nvfp4}};
    const auto found = known.find(csv_.field(csv_.column(column)));
    return found == known.end() ? std::nullopt : std::optional(found->second);
  }

  // fp8_block of vLLM is launch time (flat over small m), that of TensorRT-LLM another format: neither is taken. Rows below 8 of fp8 and
  // nvfp4 use another kernel, up to twice slower than at 8.
  bool gemm() {
    timing_.operation = Operation::gemm;
    timing_.format = format("gemm_dtype");
    take(Measure::m, "m");
    take(Measure::n, "n");
    take(Measure::k, "k");
    if (!timing_.format) return false;
    return timing_.format == spec::Format::bf16 || timing_[Measure::m] >= 8;
  }

  CsvReader csv_;
  Timings& into_;
  Timing timing_;
  std::string engine_;
};

}  // namespace

void read_table(const std::string& file, Timings& into) {
  const CsvReader header(file);
  if (Aiconfigurator::knows(header)) return Aiconfigurator(file, into).read();
  read_timings(file, into);
}

}  // namespace marea::cost
