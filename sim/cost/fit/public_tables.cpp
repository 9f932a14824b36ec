// The column mappings, one function a kind of table.
#include "sim/cost/fit/public_tables.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <map>
#include <numeric>

#include "sim/base/input.h"
#include "sim/base/random.h"
#include "sim/base/text.h"
#include "sim/cost/fit/public_profiles.h"

namespace marea::cost {

namespace {

using M = Measure;
using spec::Format;

// What the collector of aiconfigurator gives the busiest rank: tokens per expert are drawn from a density x^-alpha (between 1 and 0.8 T, or
// 0.01 and 2 where there are fewer choices than experts), scaled to T k choices, rounded and corrected at the largest; the expert ranks are
// then swapped so that the heaviest comes first. Balanced rows give every expert the same. Means over a few keyed draws.
struct RankLoad {
  double touched = 0;
  double rows = 0;
};

class CollectorLoads {
 public:
  RankLoad at(std::int64_t tokens, std::int64_t chosen, std::int64_t experts, std::int64_t ranks, double alpha) {
    const auto [known, added] = known_.try_emplace({tokens, chosen, experts, ranks, std::lround(alpha * 100)});
    if (added) known->second = alpha > 0 ? skewed(tokens, chosen, experts, ranks, alpha) : balanced(tokens, chosen, experts, ranks);
    return known->second;
  }

 private:
  static RankLoad balanced(std::int64_t tokens, std::int64_t chosen, std::int64_t experts, std::int64_t ranks) {
    const double choices = static_cast<double>(tokens * chosen);
    const double share = 1 / static_cast<double>(ranks);
    return {std::min(choices, static_cast<double>(experts)) * share, choices * share};
  }

  static RankLoad skewed(std::int64_t tokens, std::int64_t chosen, std::int64_t experts, std::int64_t ranks, double alpha) {
    constexpr std::uint64_t kDraws = 12;
    RankLoad mean;
    for (std::uint64_t draw = 0; draw < kDraws; ++draw) {
      const std::vector<std::int64_t> loads = drawn(tokens, chosen, experts, alpha, draw);
      const std::int64_t own = experts / ranks;
      RankLoad most;
      for (std::int64_t rank = 0; rank < ranks; ++rank) {
        RankLoad load;
        for (std::int64_t i = rank * own; i < (rank + 1) * own; ++i) {
          const std::int64_t rows = loads[static_cast<std::size_t>(i)];
          load.rows += static_cast<double>(rows);
          load.touched += rows > 0 ? 1 : 0;
        }
        if (load.rows > most.rows) most = load;
      }
      mean.touched += most.touched / kDraws;
      mean.rows += most.rows / kDraws;
    }
    return mean;
  }

  static std::vector<std::int64_t> drawn(std::int64_t tokens, std::int64_t chosen, std::int64_t experts, double alpha, std::uint64_t draw) {
    const double t = static_cast<double>(tokens);
    const bool many = tokens * chosen > experts;
    const double least = many ? 1 : 0.01;
    const double most = many ? std::max(0.8 * t, 1.0001) : 2;
    const double power = 1 - alpha;
    std::vector<double> loads;
    for (std::int64_t i = 0; i < experts; ++i) {
      const double u = RandomStream(0, "loads of experts", draw, static_cast<std::uint64_t>(i)).uniform();
      loads.push_back(std::pow(u * (std::pow(most, power) - std::pow(least, power)) + std::pow(least, power), 1 / power));
    }
    const double scale = t * static_cast<double>(chosen) / std::accumulate(loads.begin(), loads.end(), 0.0);
    std::vector<std::int64_t> rounded;
    for (double& load : loads) rounded.push_back(std::lround(load = std::min(load * scale, t)));
    std::vector<std::size_t> order(loads.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return std::pair(-loads[a], a) < std::pair(-loads[b], b); });
    std::int64_t missing = tokens * chosen - std::accumulate(rounded.begin(), rounded.end(), std::int64_t{0});
    for (std::size_t i = 0; missing != 0; i = (i + 1) % order.size()) {
      std::int64_t& load = rounded[order[i]];
      if (missing > 0 && load < tokens) ++load, --missing;
      if (missing < 0 && load > 0) --load, ++missing;
    }
    return rounded;
  }

  std::map<std::array<std::int64_t, 5>, RankLoad> known_;
};

// ai-dynamo/aiconfigurator: SYSTEM.ENGINE-VERSION.TABLE.csv.gz, milliseconds.
class Aiconfigurator {
 public:
  Aiconfigurator(const std::string& file, Timings& into) : csv_(file), into_(into), begin_(into.rows.size()) {
    const std::string stem = std::filesystem::path(file).filename().string();
    std::vector<std::string> parts;
    for (std::size_t at = 0; at < stem.size();) {
      const std::size_t dot = std::min(stem.find('.', at), stem.size());
      parts.push_back(stem.substr(at, dot - at));
      at = dot + 1;
    }
    // system . engine-version (with its dots) . table . csv [. gz]
    const std::size_t tail = !parts.empty() && parts.back() == "gz" ? 3 : 2;
    engine_ = "aiconfigurator";
    if (parts.size() > tail + 1) {
      system_ = parts[0];
      engine_ = parts[1];
      for (std::size_t i = 2; i + tail < parts.size(); ++i) engine_ += "." + parts[i];
      table_ = parts[parts.size() - tail];
    }
  }

  static bool knows(const CsvReader& csv) { return csv.has("latency_ms"); }

  void read() {
    if (csv_.has("gemm_dtype") && csv_.has("m")) return each([&] { return gemm(); });
    if (csv_.has("moe_dtype")) return each([&] { return experts(); }), drop_rare_kernels();
    if (table_ == "context_attention") return each([&] { return attention(Operation::prefill_attention); });
    if (table_ == "generation_attention") return each([&] { return attention(Operation::decode_attention); });
    if (table_ == "mla_context_module") return each([&] { return latent(Operation::prefill_latent); });
    if (table_ == "mla_generation_module") return each([&] { return latent(Operation::decode_latent); });
    if (table_ == "dsa_context_module") return each([&] { return sparse(Operation::prefill_sparse); });
    if (table_ == "dsa_generation_module") return each([&] { return sparse(Operation::decode_sparse); });
    if (csv_.has("message_size") && csv_.has("num_gpus") && !csv_.has("op_name")) return each([&] { return all_reduce(); });
    throw ConfigError({csv_.mark(0).file, 1, 0}, "", "is a table of aiconfigurator that no law here is fitted to");
  }

 private:
  template <class Row>
  void each(Row row) {
    while (csv_.next()) {
      timing_ = {};
      timing_.warm = true;
      timing_.seconds = csv_.number(csv_.column("latency_ms"), 1e-9, 1e15) * 1e-3;
      if (!row()) continue;
      std::string source = engine_;
      if (csv_.has("kernel_source")) source += " " + std::string(text("kernel_source"));
      if (!system_.empty()) source += " on " + system_;
      timing_.source = into_.source(source);
      into_.rows.push_back(timing_);
    }
  }

  std::string_view text(std::string_view column) const { return csv_.field(csv_.column(column)); }
  // A column that held one value upstream was left out there.
  std::string_view text_or(std::string_view column, std::string_view constant) const { return csv_.has(column) ? text(column) : constant; }
  double value(std::string_view column) const { return csv_.number(csv_.column(column), 0, 1e18); }
  double value_or(std::string_view column, double constant) const { return csv_.has(column) ? value(column) : constant; }

  // fp8_block of vLLM is launch time (flat over small m) and is not taken; fp8 and nvfp4 below 8 rows run another kernel, up to twice
  // slower than at 8.
  bool gemm() {
    static const std::map<std::string, Format, std::less<>> formats{
        {"bfloat16", Format::bf16}, {"fp8", Format::fp8}, {"nvfp4", Format::nvfp4}};
    const auto format = formats.find(text("gemm_dtype"));
    if (format == formats.end()) return false;
    timing_.operation = Operation::gemm;
    timing_.format = format->second;
    for (const auto& [measure, column] : {std::pair{M::m, "m"}, std::pair{M::n, "n"}, std::pair{M::k, "k"}})
      timing_[measure] = value(column);
    return timing_.format == Format::bf16 || timing_[M::m] >= 8;
  }

  // Heads of 64, 128 and 256, as models of grouped attention have them: others run kernels of their own.
  bool attention(Operation operation) {
    const double width = value_or("head_dim", 128);
    if (width != 64 && width != 128 && width != 256) return false;
    timing_.operation = operation;
    timing_.format = Format::bf16;
    timing_.kv = text_or("kv_cache_dtype", "bfloat16") == "fp8" ? Format::fp8 : Format::bf16;
    timing_[M::batch] = value("batch_size");
    timing_[operation == Operation::prefill_attention ? M::tokens : M::context] =
        value(operation == Operation::prefill_attention ? "isl" : "step");
    if (operation == Operation::prefill_attention) timing_[M::context] = value_or("step", 0);
    timing_[M::heads] = value("num_heads");
    const double kv_heads = value("num_key_value_heads");
    timing_[M::kv_heads] = kv_heads > 0 ? kv_heads : timing_[M::heads];
    timing_[M::head_dim] = width;
    timing_[M::window] = value_or("window_size", 0);
    // With a window FlashAttention 2 neither splits a sequence nor packs the query heads of a KV head: times of another law.
    const bool plain = operation == Operation::decode_attention && text_or("kernel_source", "").find("fa2") != std::string_view::npos;
    if (plain && timing_[M::window] > 0) return false;
    return true;
  }

  // The whole attention block of DeepSeek-V3 with its products; only rows with 16-bit products, whose law is known well.
  bool latent(Operation operation) {
    if (text_or("gemm_type", "bfloat16") != "bfloat16") return false;
    timing_.operation = operation;
    timing_.with_products = true;
    timing_.format = Format::bf16;
    timing_.kv = text_or("kv_cache_dtype", "bfloat16") == "fp8" ? Format::fp8 : Format::bf16;
    timing_[M::batch] = value("batch_size");
    const bool prefill = operation == Operation::prefill_latent;
    timing_[prefill ? M::tokens : M::context] = value(prefill ? "isl" : "step");
    if (prefill) timing_[M::context] = value_or("step", 0);
    timing_[M::heads] = value("num_heads");
    constexpr std::array<std::pair<M, double>, 6> kDeepSeek{
        {{M::hidden, 7168}, {M::query_rank, 1536}, {M::latent, 512}, {M::rope_dim, 64}, {M::nope_dim, 128}, {M::value_dim, 128}}};
    for (const auto& [measure, number] : kDeepSeek) timing_[measure] = number;
    return true;
  }

  // The whole attention block of DeepSeek-V3.2 and GLM-5 with its products and its index, which all of these layers own. Steps of more
  // tokens than engines take at once run other kernels. With 8-bit keys and fewer than 32 heads vLLM prefills on Hopper with the kernel of
  // decodes, every query reading the full choice: another law.
  bool sparse(Operation operation) {
    constexpr double kMostTokens = 32768;
    constexpr double kFewHeads = 32;
    if (text_or("gemm_type", "bfloat16") != "bfloat16") return false;
    const bool prefill = operation == Operation::prefill_sparse;
    timing_.operation = operation;
    timing_.with_products = true;
    timing_.format = Format::bf16;
    timing_.kv = text_or("kv_cache_dtype", "bfloat16") == "fp8" ? Format::fp8 : Format::bf16;
    timing_[M::batch] = value("batch_size");
    timing_[prefill ? M::tokens : M::context] = value(prefill ? "isl" : "step");
    if (prefill) timing_[M::context] = value_or("step", 0);
    timing_[M::heads] = value("num_heads");
    const bool glm = text_or("model", "").find("GLM-5") != std::string_view::npos;
    const std::array<std::pair<M, double>, 9> shape{{{M::hidden, glm ? 6144 : 7168},
                                                     {M::query_rank, glm ? 2048 : 1536},
                                                     {M::latent, 512},
                                                     {M::rope_dim, 64},
                                                     {M::nope_dim, glm ? 192 : 128},
                                                     {M::value_dim, glm ? 256 : 128},
                                                     {M::chosen_keys, 2048},
                                                     {M::index_heads, glm ? 32 : 64},
                                                     {M::index_dim, 128}}};
    for (const auto& [measure, number] : shape) timing_[measure] = number;
    if (!prefill) return true;
    const bool hopper = system_ == "h100_sxm" || system_ == "h200_sxm";
    if (hopper && timing_.kv == Format::fp8 && timing_[M::heads] < kFewHeads) return false;
    return timing_[M::batch] * timing_[M::tokens] <= kMostTokens;
  }

  // fp8_block is the format of published fp8 models; int4 and mxfp4 multiply in 16 bits (Marlin, Triton) unless the table says 8. Experts
  // of 22 choices or hidden size 2,688 have no gate, two matrices instead of three. Widths that no split of a real model gives are left
  // out.
  bool experts() {
    struct Known {
      Format format;
      std::optional<Format> math;
    };
    static const std::map<std::string, Known, std::less<>> formats{{"bfloat16", {Format::bf16, {}}},
                                                                   {"fp8_block", {Format::fp8, {}}},
                                                                   {"nvfp4", {Format::nvfp4, {}}},
                                                                   {"int4_wo", {Format::int4, Format::bf16}},
                                                                   {"w4a16_mxfp4", {Format::mxfp4, Format::bf16}},
                                                                   {"w4a8_mxfp4_mxfp8", {Format::mxfp4, Format::fp8}}};
    const auto known = formats.find(text_or("moe_dtype", "bfloat16"));
    if (known == formats.end()) return false;
    timing_.operation = Operation::experts;
    timing_.format = known->second.format;
    timing_.math = known->second.math;
    for (const auto& [measure, column] :
         {std::pair{M::tokens, "num_tokens"}, std::pair{M::hidden, "hidden_size"}, std::pair{M::width, "inter_size"},
          std::pair{M::chosen, "topk"}, std::pair{M::experts, "num_experts"}, std::pair{M::tensor_ranks, "moe_tp_size"},
          std::pair{M::expert_ranks, "moe_ep_size"}})
      timing_[measure] = value(column);
    const double width = timing_[M::width] / timing_[M::tensor_ranks];
    const bool split_evenly = std::fmod(timing_[M::experts], timing_[M::expert_ranks]) == 0;
    if (width < 128 || std::fmod(width, 64) != 0 || timing_[M::tensor_ranks] > 16 || timing_[M::expert_ranks] > 64 || !split_evenly)
      return false;
    if (timing_[M::chosen] == 22 || timing_[M::hidden] == 2688) return false;
    const std::string_view distribution = text("distribution");
    if (distribution != "balanced") {
      constexpr std::string_view kLaw = "power_law_";
      const std::string_view exponent = distribution.substr(std::min(kLaw.size(), distribution.size()));
      if (std::from_chars(exponent.data(), exponent.data() + exponent.size(), timing_[M::skew]).ec != std::errc())
        throw ConfigError(csv_.mark(csv_.column("distribution")), "distribution", excerpt(distribution) + " is not a known distribution");
    }
    const auto whole = [&](M measure) { return static_cast<std::int64_t>(timing_[measure]); };
    const RankLoad load = loads_.at(whole(M::tokens), whole(M::chosen), whole(M::experts), whole(M::expert_ranks), timing_[M::skew]);
    timing_[M::touched] = load.touched;
    timing_[M::rows] = load.rows;
    return true;
  }

  bool all_reduce() {
    timing_.operation = Operation::all_reduce;
    timing_[M::ranks] = value("num_gpus");
    timing_[M::bytes] = value("message_size") * 2;  // stated in elements of 16 bits
    timing_[M::graph] = text_or("backend", "").find("graph") != std::string_view::npos ? 1 : 0;
    return true;
  }

  // An engine chooses one kernel for nearly all shapes; sources with less than a tenth of a format's rows are special cases. Of mxfp4,
  // which gpt-oss alone has, kernels with 8-bit activations go first, as served on Blackwell, then those made for gpt-oss.
  void drop_rare_kernels() {
    constexpr double kRare = 0.1;
    std::map<Format, double> all;
    std::map<std::pair<Format, std::uint32_t>, double> of_source;
    const auto begin = into_.rows.begin() + static_cast<std::ptrdiff_t>(begin_);
    const auto of_eight = [](const Timing& row) { return row.format == Format::mxfp4 && row.math == Format::fp8; };
    const bool eight = std::any_of(begin, into_.rows.end(), of_eight);
    const auto other = [&](const Timing& row) {
      if (row.format != Format::mxfp4) return false;
      return eight ? !of_eight(row) : into_.sources[row.source].find("gptoss") == std::string::npos;
    };
    into_.rows.erase(std::remove_if(begin, into_.rows.end(), other), into_.rows.end());
    for (auto row = into_.rows.begin() + static_cast<std::ptrdiff_t>(begin_); row != into_.rows.end(); ++row) {
      ++all[*row->format];
      ++of_source[{*row->format, row->source}];
    }
    const auto rare = [&](const Timing& row) { return of_source[{*row.format, row.source}] < kRare * all[*row.format]; };
    into_.rows.erase(std::remove_if(into_.rows.begin() + static_cast<std::ptrdiff_t>(begin_), into_.rows.end(), rare), into_.rows.end());
  }

  CsvReader csv_;
  Timings& into_;
  std::size_t begin_;
  Timing timing_;
  std::string system_;
  std::string engine_;
  std::string table_;
  CollectorLoads loads_;
};

}  // namespace

void read_table(const std::string& file, Timings& into) {
  const CsvReader header(file);
  if (Aiconfigurator::knows(header)) return Aiconfigurator(file, into).read();
  if (is_profile(header)) return read_profile(file, into);
  read_timings(file, into);
}

}  // namespace marea::cost
