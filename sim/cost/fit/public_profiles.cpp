// Profiles state layers of a model by name; their shapes follow from the model.
#include "sim/cost/fit/public_profiles.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "sim/base/text.h"

namespace marea::cost {

namespace {

using M = Measure;
using spec::Format;

// The widths of a model that a profile names in its file name.
struct Widths {
  std::string_view model;
  double hidden, heads, kv_heads, head_dim, width, vocabulary, experts, chosen, expert_width;
};
constexpr std::array<Widths, 3> kModels{{{"Llama-3.1-8B", 4096, 32, 8, 128, 14336, 128256, 0, 0, 0},
                                         {"Qwen3-32B", 5120, 64, 8, 128, 25600, 151936, 0, 0, 0},
                                         {"Qwen3-30B-A3B", 2048, 32, 4, 128, 0, 151936, 128, 8, 768}}};

Timing product(double m, double k, double n, double seconds) {
  Timing row;
  row.operation = Operation::gemm;
  row.format = Format::bf16;
  row[M::m] = m;
  row[M::k] = k;
  row[M::n] = n;
  row.seconds = seconds;
  return row;
}

Timing small_kernel(double tokens, double bytes, double seconds) {
  Timing row;
  row.operation = Operation::small_kernels;
  row[M::tokens] = tokens;
  row[M::bytes] = tokens * bytes;
  row.seconds = seconds;
  return row;
}

// LLMServingSim 2: profile.GPU__MAKER__MODEL__bf16__tpN__TABLE.csv.gz, microseconds.
class ServingSimProfile {
 public:
  ServingSimProfile(const std::string& file, Timings& into) : csv_(file), into_(into) {
    const std::string stem = std::filesystem::path(file).filename().string();
    const auto model =
        std::find_if(kModels.begin(), kModels.end(), [&](const Widths& one) { return stem.find(one.model) != std::string::npos; });
    if (model == kModels.end())
      throw ConfigError({file}, "",
                        "is a profile of a model whose widths are not known here; there are Llama-3.1-8B, Qwen3-32B, Qwen3-30B-A3B");
    model_ = *model;
    const std::size_t ranks = stem.find("__tp");
    if (ranks != std::string::npos && ranks + 4 < stem.size()) ranks_ = std::max(1, stem[ranks + 4] - '0');
    source_ = into_.source("llmservingsim vllm " + std::string(model_.model) + " on " + std::to_string(ranks_) + " ranks");
  }

  void read() {
    while (csv_.next()) {
      const double seconds = csv_.number(csv_.column("time_us"), 1e-6, 1e12) * 1e-6;
      if (csv_.has("prefill_chunk"))
        attention(seconds);
      else if (csv_.has("activated_experts"))
        experts(seconds);
      else if (csv_.has("sequences"))
        per_sequence(seconds);
      else
        dense(seconds);
    }
  }

 private:
  double value(std::string_view column) const { return csv_.number(csv_.column(column), 0, 1e15); }
  void add(Timing row) {
    row.source = source_;
    row.warm = row.operation != Operation::gemm;
    into_.rows.push_back(row);
  }

  void dense(double seconds) {
    const std::string_view layer = csv_.field(csv_.column("layer"));
    const double tokens = value("tokens");
    const double queries = model_.heads * model_.head_dim / ranks_;
    const double keys = model_.kv_heads * model_.head_dim / ranks_;
    const double width = model_.width / ranks_;
    if (layer == "qkv_proj") add(product(tokens, model_.hidden, queries + 2 * keys, seconds));
    if (layer == "o_proj") add(product(tokens, queries, model_.hidden, seconds));
    if (layer == "gate_up_proj") add(product(tokens, model_.hidden, 2 * width, seconds));
    if (layer == "down_proj") add(product(tokens, width, model_.hidden, seconds));
    if (layer == "layernorm") add(small_kernel(tokens, 8 * model_.hidden, seconds));  // with the residual: two in, two out
    if (layer == "rotary_emb") add(small_kernel(tokens, 4 * (queries + keys), seconds));
    if (layer == "act_fn") add(small_kernel(tokens, 6 * width, seconds));
  }

  void per_sequence(double seconds) {
    if (csv_.field(csv_.column("layer")) == "lm_head") add(product(value("sequences"), model_.hidden, model_.vocabulary / ranks_, seconds));
  }

  // Mixed batches are left out: the laws add up, and their sum is what a run tests.
  void attention(double seconds) {
    const double chunk = value("prefill_chunk");
    const double decodes = value("n_decode");
    if ((chunk > 0) == (decodes > 0)) return;
    Timing row;
    row.operation = chunk > 0 ? Operation::prefill_attention : Operation::decode_attention;
    row.kv = Format::bf16;
    row[M::batch] = chunk > 0 ? 1 : decodes;
    row[M::tokens] = chunk;
    row[M::context] = value(chunk > 0 ? "kv_prefill" : "kv_decode");
    row[M::heads] = model_.heads / ranks_;
    row[M::kv_heads] = model_.kv_heads / ranks_;
    row[M::head_dim] = model_.head_dim;
    row.seconds = seconds;
    add(row);
  }

  void experts(double seconds) {
    Timing row;
    row.operation = Operation::experts;
    row.format = Format::bf16;
    row[M::tokens] = value("tokens");
    row[M::hidden] = model_.hidden;
    row[M::experts] = model_.experts;
    row[M::chosen] = model_.chosen;
    row[M::width] = model_.expert_width;
    row[M::expert_ranks] = row[M::tensor_ranks] = 1;
    row[M::touched] = value("activated_experts");
    row[M::rows] = row[M::tokens] * model_.chosen;
    row.seconds = seconds;
    add(row);
  }

  CsvReader csv_;
  Timings& into_;
  Widths model_{};
  double ranks_ = 1;
  std::uint32_t source_ = 0;
};

// Vidur: compute__GPU__MAKER__MODEL__mlp.csv.gz and network__TOPOLOGY__all_reduce.csv.gz, medians in milliseconds.
class VidurProfile {
 public:
  VidurProfile(const std::string& file, Timings& into) : csv_(file), into_(into), source_(into.source("vidur 7d47513")) {}

  void read() {
    while (csv_.next()) csv_.has("num_workers") ? network() : compute();
  }

 private:
  double value(std::string_view column) const { return csv_.number(csv_.column(column), 0, 1e15); }
  // A layer of the table that was not measured has an empty cell.
  void add(Timing row, const std::string& layer) {
    const std::size_t column = csv_.column("time_stats." + layer + ".median");
    if (csv_.field(column).empty()) return;
    row.seconds = csv_.number(column, 0, 1e12) * 1e-3;
    row.source = source_;
    if (row.seconds > 0) into_.rows.push_back(row);
  }

  void compute() {
    const double ranks = value("num_tensor_parallel_workers");
    const double tokens = value("num_tokens");
    const double hidden = value("n_embd");
    const double head_dim = hidden / value("n_head");
    const double keys = std::max(1.0, value("n_kv_head") / ranks) * head_dim;
    const double queries = hidden / ranks;
    const double width = value("n_expanded_embd") / ranks;
    const bool gated = csv_.field(csv_.column("use_gated_mlp")) == "True";
    add(product(tokens, hidden, queries + 2 * keys, 0), "attn_pre_proj");
    add(product(tokens, queries, hidden, 0), "attn_post_proj");
    add(product(tokens, hidden, gated ? 2 * width : width, 0), "mlp_up_proj");
    add(product(tokens, width, hidden, 0), "mlp_down_proj");
    add(small_kernel(tokens, 4 * hidden, 0), "input_layernorm");
    add(small_kernel(tokens, 4 * (queries + keys), 0), "attn_rope");
    add(small_kernel(tokens, (gated ? 6 : 4) * width, 0), "mlp_act");
    add(small_kernel(tokens, 6 * hidden, 0), "add");
  }

  // Each rank has a row; the slowest is the time of the call, and the fit takes the fastest of a case: only rank 0 counts.
  void network() {
    if (csv_.field(csv_.column("collective")) != "all_reduce" || value("rank") != 0) return;
    Timing row;
    row.operation = Operation::all_reduce;
    row[M::ranks] = value("num_workers");
    row[M::bytes] = value("size");
    if (row[M::ranks] >= 2 && row[M::bytes] > 0) add(row, "all_reduce");
  }

  CsvReader csv_;
  Timings& into_;
  std::uint32_t source_;
};

bool of_vidur(const CsvReader& csv) {
  return csv.has("num_tensor_parallel_workers") || (csv.has("num_workers") && csv.has("time_stats.all_reduce.median"));
}
bool of_serving_sim(const CsvReader& csv) {
  return csv.has("time_us") && (csv.has("prefill_chunk") || csv.has("activated_experts") || csv.has("layer"));
}

}  // namespace

bool is_profile(const CsvReader& header) { return of_vidur(header) || of_serving_sim(header); }

void read_profile(const std::string& file, Timings& into) {
  if (of_vidur(CsvReader(file))) return VidurProfile(file, into).read();
  ServingSimProfile(file, into).read();
}

}  // namespace marea::cost
