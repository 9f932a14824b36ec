// Attention over a paged KV cache on the CPU: decode (the query heads of a group against their KV head, contexts cut into pieces so that
// all cores have work) and causal prefill (tiles of queries of one head). One loop with a running softmax serves both.
#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "kernels/host/kernel.h"
#include "kernels/reference.h"

namespace marea::probe::host {

namespace {

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

constexpr std::int64_t kBlock = 16;  // tokens of a KV block
constexpr std::int64_t kTile = 64;   // keys taken at a time
constexpr std::int64_t kRows = 32;   // queries of a prefill tile

// Rows of queries with their running softmax: highest score, sum of weights, weighted sum of values.
struct Softmax {
  Eigen::VectorXf highest, total;
  Matrix values;

  void reset(std::int64_t rows, std::int64_t size) {
    highest.setConstant(rows, -std::numeric_limits<float>::infinity());
    total.setZero(rows);
    values.setZero(rows, size);
  }

  // `scores` [rows x keys] become weights; `tile` holds the keys' values.
  void add(Matrix& scores, const Matrix& tile) {
    for (Eigen::Index row = 0; row < scores.rows(); ++row) {
      const float peak = std::max(highest[row], scores.row(row).maxCoeff());
      if (peak == -std::numeric_limits<float>::infinity()) {  // nothing seen yet
        scores.row(row).setZero();
        continue;
      }
      const float shrink = std::exp(highest[row] - peak);
      scores.row(row) = (scores.row(row).array() - peak).exp();
      total[row] = total[row] * shrink + scores.row(row).sum();
      values.row(row) *= shrink;
      highest[row] = peak;
    }
    values.noalias() += scores * tile;
  }

  void merge(const Softmax& other) {
    for (Eigen::Index row = 0; row < values.rows(); ++row) {
      const float peak = std::max(highest[row], other.highest[row]);
      if (peak == -std::numeric_limits<float>::infinity()) continue;
      const float mine = std::exp(highest[row] - peak);
      const float its = std::exp(other.highest[row] - peak);
      total[row] = total[row] * mine + other.total[row] * its;
      values.row(row) = values.row(row) * mine + other.values.row(row) * its;
      highest[row] = peak;
    }
  }
};

template <class Element>
class Attention final : public HostKernel {
 public:
  Attention(const Case& one, std::uint64_t seed)
      : batch_(one.batch.value()),
        fresh_(one.operation == Operation::decode_attention ? 1 : one.tokens.value()),
        keys_(one.context.value() + fresh_),
        heads_(one.heads.value()),
        kv_heads_(one.kv_heads.value()),
        size_(one.head_dim.value()),
        window_(one.window.value_or(0)),
        seed_(seed) {
    blocks_ = (keys_ + kBlock - 1) / kBlock;
    table_.resize(static_cast<std::size_t>(batch_ * blocks_));
    std::iota(table_.begin(), table_.end(), 0);
    std::shuffle(table_.begin(), table_.end(), std::mt19937_64(seed));
    queries_.resize(static_cast<std::size_t>(batch_ * fresh_ * heads_ * size_));
    outputs_.resize(queries_.size());
    key_cache_.resize(static_cast<std::size_t>(batch_ * blocks_ * kBlock * kv_heads_ * size_));
    value_cache_.resize(key_cache_.size());
    fill(queries_, seed, Array::query, kQueryScale);
    fill(key_cache_, seed, Array::key);
    fill(value_cache_, seed, Array::value);
  }

  void poison() override { host::poison(outputs_); }
  void run() override { fresh_ == 1 ? decode() : prefill(); }

  double error() override {
    RelativeNorm norm;
    std::vector<float> query(static_cast<std::size_t>(size_));
    const std::int64_t rows = batch_ * fresh_ * heads_;
    const std::int64_t most = std::clamp<std::int64_t>((std::int64_t{1} << 22) / (keys_ * size_), 2, 64);
    for (const std::int64_t row : some_of(rows, most, seed_)) {
      const std::int64_t sequence = row / heads_ / fresh_;
      const std::int64_t kv_head = row % heads_ / (heads_ / kv_heads_);
      draw_row(seed_, Array::query, static_cast<std::uint64_t>(row * size_), query);
      for (float& value : query) value *= kQueryScale;
      const auto rounded = [&](Array array) {
        return [this, array, sequence, kv_head](std::int64_t token, std::span<float> out) {
          draw_row(seed_, array, static_cast<std::uint64_t>(place(sequence, token, kv_head)), out);
          for (float& value : out) value = static_cast<float>(Element(value));
        };
      };
      const std::int64_t last = keys_ - fresh_ + row / heads_ % fresh_ + 1;
      const Seen seen{window_ > 0 ? std::max<std::int64_t>(0, last - window_) : 0, last, scale()};
      const std::vector<double> expected = attend(query, seen, rounded(Array::key), rounded(Array::value), query.size());
      for (std::size_t i = 0; i < expected.size(); ++i) norm.add(outputs_[static_cast<std::size_t>(row * size_) + i], expected[i]);
    }
    return norm.value();
  }

  double tolerance() const override { return 1e-4; }

 protected:
  std::vector<std::span<const std::byte>> operands() const override {
    return {bytes_of(queries_), bytes_of(key_cache_), bytes_of(value_cache_), bytes_of(outputs_)};
  }

 private:
  // What one thread works in.
  struct Scratch {
    Matrix queries, keys, values, scores;
    Softmax softmax;
  };

  double scale() const { return 1 / std::sqrt(static_cast<double>(size_)); }

  // First value of a token's row in the caches: [block][token in block][KV head][value].
  std::int64_t place(std::int64_t sequence, std::int64_t token, std::int64_t kv_head) const {
    const std::int64_t block = table_[static_cast<std::size_t>(sequence * blocks_ + token / kBlock)];
    return ((block * kBlock + token % kBlock) * kv_heads_ + kv_head) * size_;
  }

  void load(const std::vector<Element>& cache, std::int64_t sequence, std::int64_t first, std::int64_t count, std::int64_t kv_head,
            Matrix& tile) const {
    tile.resize(count, size_);
    for (std::int64_t i = 0; i < count; ++i) widen(cache.data() + place(sequence, first + i, kv_head), size_, tile.data() + i * size_);
  }

  // Rows of work.queries, the row number r seeing keys up to last + r * step, against keys [first, end).
  void attend_rows(Scratch& work, std::int64_t sequence, std::int64_t kv_head, std::int64_t first, std::int64_t end, std::int64_t last,
                   std::int64_t step) const {
    work.softmax.reset(work.queries.rows(), size_);
    for (std::int64_t at = first; at < end; at += kTile) {
      const std::int64_t count = std::min(kTile, end - at);
      load(key_cache_, sequence, at, count, kv_head, work.keys);
      load(value_cache_, sequence, at, count, kv_head, work.values);
      work.scores.noalias() = work.queries * work.keys.transpose();
      for (Eigen::Index row = 0; row < work.scores.rows(); ++row) {
        const std::int64_t limit = last + row * step;
        for (std::int64_t i = std::max<std::int64_t>(0, limit - at); i < count; ++i) work.scores(row, i) = -INFINITY;
        if (window_ > 0)
          for (std::int64_t i = 0; i < std::min(count, limit - window_ - at); ++i) work.scores(row, i) = -INFINITY;
      }
      work.softmax.add(work.scores, work.values);
    }
  }

  void decode() {
    const std::int64_t group = heads_ / kv_heads_;
    const std::int64_t begin = window_ > 0 ? std::max<std::int64_t>(0, keys_ - window_) : 0;
    const std::int64_t units = batch_ * kv_heads_;
    const std::int64_t pieces = std::clamp<std::int64_t>(4 * threads() / units, 1, std::max<std::int64_t>(1, (keys_ - begin) / 256));
    const std::int64_t piece_keys = ((keys_ - begin + pieces - 1) / pieces + kBlock - 1) / kBlock * kBlock;
    std::vector<Softmax> parts(static_cast<std::size_t>(units * pieces));
#pragma omp parallel
    {
      Scratch work;
#pragma omp for schedule(dynamic)
      for (std::int64_t i = 0; i < units * pieces; ++i) {
        const std::int64_t unit = i / pieces;
        const std::int64_t first = begin + i % pieces * piece_keys;
        work.queries = Eigen::Map<const Matrix>(query_of(unit, group), group, size_) * static_cast<float>(scale());
        attend_rows(work, unit / kv_heads_, unit % kv_heads_, first, std::min(keys_, first + piece_keys), keys_, 0);
        std::swap(parts[static_cast<std::size_t>(i)], work.softmax);
      }
#pragma omp for
      for (std::int64_t unit = 0; unit < units; ++unit) {
        Softmax& all = parts[static_cast<std::size_t>(unit * pieces)];
        for (std::int64_t piece = 1; piece < pieces; ++piece) all.merge(parts[static_cast<std::size_t>(unit * pieces + piece)]);
        float* out = outputs_.data() + unit * group * size_;
        Eigen::Map<Matrix>(out, group, size_) = all.total.cwiseInverse().asDiagonal() * all.values;
      }
    }
  }

  // The query heads of a group lie side by side: unit = sequence x KV heads + KV head.
  const float* query_of(std::int64_t unit, std::int64_t group) const { return queries_.data() + unit * group * size_; }

  void prefill() {
    const std::int64_t tiles = (fresh_ + kRows - 1) / kRows;
    const std::int64_t cached = keys_ - fresh_;
    const Eigen::OuterStride<> stride(heads_ * size_);
#pragma omp parallel
    {
      Scratch work;
#pragma omp for schedule(dynamic)
      for (std::int64_t i = 0; i < batch_ * heads_ * tiles; ++i) {
        const std::int64_t query = (tiles - 1 - i / (batch_ * heads_)) * kRows;  // the longest first
        const std::int64_t sequence = i % (batch_ * heads_) / heads_;
        const std::int64_t head = i % heads_;
        const std::int64_t rows = std::min(kRows, fresh_ - query);
        const std::int64_t at = ((sequence * fresh_ + query) * heads_ + head) * size_;
        const std::int64_t last = cached + query + 1;
        const std::int64_t first = window_ > 0 ? std::max<std::int64_t>(0, last - window_) : 0;
        using Strided = Eigen::Map<const Matrix, 0, Eigen::OuterStride<>>;
        work.queries = Strided(queries_.data() + at, rows, size_, stride) * static_cast<float>(scale());
        attend_rows(work, sequence, head / (heads_ / kv_heads_), first, last + rows - 1, last, 1);
        Eigen::Map<Matrix, 0, Eigen::OuterStride<>>(outputs_.data() + at, rows, size_, stride) =
            work.softmax.total.cwiseInverse().asDiagonal() * work.softmax.values;
      }
    }
  }

  std::int64_t batch_, fresh_, keys_, heads_, kv_heads_, size_, window_;
  std::uint64_t seed_;
  std::int64_t blocks_ = 0;  // of a sequence
  std::vector<std::int64_t> table_;
  std::vector<float> queries_, outputs_;
  std::vector<Element> key_cache_, value_cache_;
};

}  // namespace

std::unique_ptr<Kernel> make_attention(const Case& one, std::uint64_t seed) {
  if (one.format != "fp32") throw Unsupported("no attention in " + one.format + " on the host");
  if (one.kv == "fp32") return std::make_unique<Attention<Float>>(one, seed);
  if (one.kv == "bf16") return std::make_unique<Attention<Bfloat>>(one, seed);
  throw Unsupported("no attention over a KV cache in " + one.kv + " on the host");
}

}  // namespace marea::probe::host
