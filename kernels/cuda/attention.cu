// Calls the attention kernels: their caches, the number of splits, and the references.
#include <cmath>
#include <numeric>
#include <random>
#include <span>

#include "kernels/cuda/latent.cuh"
#include "kernels/cuda/prefill.cuh"
#include "kernels/cuda/runtime.cuh"
#include "kernels/reference.h"

namespace marea::probe::cuda {

namespace {

constexpr double kLogE = 1.4426950408889634;

// Where a sequence's tokens are: pages in random order, the same for keys and values.
class Pages {
 public:
  Pages(std::int64_t sequences, std::int64_t tokens, std::uint64_t seed)
      : pages_((tokens + kPage - 1) / kPage), table_(static_cast<std::size_t>(sequences * pages_)), on_device_(sequences * pages_, 1) {
    std::iota(table_.begin(), table_.end(), 0);
    std::shuffle(table_.begin(), table_.end(), std::mt19937_64(seed));
    on_device_.set(table_);
  }
  std::int64_t of_sequence() const { return pages_; }
  std::int64_t slots() const { return static_cast<std::int64_t>(table_.size()) * kPage; }
  std::int64_t slot(std::int64_t sequence, std::int64_t token) const {
    return static_cast<std::int64_t>(table_[static_cast<std::size_t>(sequence * pages_ + token / kPage)]) * kPage + token % kPage;
  }
  const int* table() const { return on_device_.at(0); }

 private:
  std::int64_t pages_;
  std::vector<int> table_;
  Operand<int> on_device_;
};

// Draws of a cache's row, rounded as they lie there.
template <class Value>
RowOf rows_of(const Pages& pages, std::uint64_t seed, Array array, std::int64_t sequence, std::int64_t heads, std::int64_t head,
              std::int64_t size) {
  return [&pages, seed, array, sequence, heads, head, size](std::int64_t token, std::span<float> out) {
    draw_row(seed, array, static_cast<std::uint64_t>((pages.slot(sequence, token) * heads + head) * size), out);
    for (float& value : out) value = static_cast<float>(Value(value));
  };
}

std::vector<float> query_row(std::uint64_t seed, std::int64_t row, std::int64_t size) {
  std::vector<float> out(static_cast<std::size_t>(size));
  draw_row(seed, Array::query, static_cast<std::uint64_t>(row * size), out);
  for (float& value : out) value = static_cast<float>(Bfloat(value * kQueryScale));
  return out;
}

void add_row(RelativeNorm& norm, const Operand<Bfloat>& outputs, std::int64_t row, const std::vector<double>& expected) {
  const auto size = static_cast<std::int64_t>(expected.size());
  const std::vector<Bfloat> found = outputs.values(row * size, size);
  for (std::size_t i = 0; i < expected.size(); ++i) norm.add(static_cast<double>(static_cast<float>(found[i])), expected[i]);
}

// As many rows as a few million draws pay for.
std::vector<std::int64_t> rows_to_check(std::int64_t rows, std::int64_t tokens, std::int64_t size, std::uint64_t seed) {
  return some_of(rows, std::clamp<std::int64_t>((std::int64_t{1} << 22) / (tokens * size), 2, 48), seed);
}

template <class Function>
int resident_blocks(Function* kernel, int threads, int shared_bytes) {
  if (shared_bytes > machine().shared) throw Unsupported("a block needs more shared memory than this device has");
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes), "asking for shared memory");
  int blocks = 0;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, static_cast<std::size_t>(shared_bytes)),
        "asking for the occupancy");
  return std::max(1, blocks) * machine().processors;
}

// Fewest splits that keep the device nearly as busy as any number of them would: blocks come in waves, and the last wave should be full.
int splits_for(std::int64_t units, std::int64_t pieces, int resident) {
  const int most = static_cast<int>(std::clamp<std::int64_t>(pieces, 1, 128));
  const auto full = [&](int splits) {
    const double waves = static_cast<double>(units * splits) / resident;
    return waves / std::ceil(waves);
  };
  double best = 0;
  for (int splits = 1; splits <= most; ++splits) best = std::max(best, full(splits));
  int splits = 1;
  while (full(splits) < 0.85 * best) ++splits;
  return splits;
}

// What decode kernels leave for `combine`.
struct Splits {
  Operand<float> values, logarithms;
  int count;
  Splits(std::int64_t rows, std::int64_t size, int splits)
      : values(splits > 1 ? rows * size * splits : 1, 1), logarithms(splits > 1 ? rows * splits : 1, 1), count(splits) {}
  Partial partial() const { return {values.at(0), logarithms.at(0), count}; }
  void poison() {
    values.poison();
    logarithms.poison();
  }
};

template <class Kv, int size>
class Decode final : public CudaKernel {
 public:
  Decode(const Case& one, std::uint64_t seed, double bytes, int copies)
      : CudaKernel(bytes, copies),
        batch_(one.batch.value()),
        tokens_(one.context.value() + 1),
        heads_(one.heads.value()),
        kv_heads_(one.kv_heads.value()),
        first_(one.window.value_or(0) > 0 ? std::max<std::int64_t>(0, tokens_ - *one.window) : 0),
        seed_(seed),
        pages_(batch_, tokens_, seed),
        queries_(batch_ * heads_ * size, 1),
        outputs_(batch_ * heads_ * size, 1),
        keys_(pages_.slots() * kv_heads_ * size, copies),
        values_(pages_.slots() * kv_heads_ * size, copies) {
    if (heads_ % kv_heads_ != 0 || heads_ / kv_heads_ > 16) throw Unsupported("more than 16 query heads to a KV head");
    fill(queries_, queries_.count(), seed, Array::query, kQueryScale);
    fill(keys_, keys_.count(), seed, Array::key);
    fill(values_, values_.count(), seed, Array::value);
    const int resident = resident_blocks(decode<Kv, size>, kDecodeWarps * 32, shared_bytes);
    const std::int64_t pieces = (tokens_ - first_) / (4 * kDecodeWarps * kPage);  // a warp should have some pages to stream
    splits_ = std::make_unique<Splits>(batch_ * heads_, size, splits_for(batch_ * kv_heads_, pieces, resident));
  }

  void poison() override {
    outputs_.poison();
    splits_->poison();
  }

  double error() override {
    RelativeNorm norm;
    const double scale = 1 / std::sqrt(static_cast<double>(size));
    for (const std::int64_t row : rows_to_check(batch_ * heads_, tokens_, size, seed_)) {
      const std::int64_t kv_head = row % heads_ / (heads_ / kv_heads_);
      const auto cached = [&](Array array) { return rows_of<Kv>(pages_, seed_, array, row / heads_, kv_heads_, kv_head, size); };
      add_row(norm, outputs_, row,
              attend(query_row(seed_, row, size), {first_, tokens_, scale}, cached(Array::key), cached(Array::value), size));
    }
    return norm.value();
  }

  double tolerance() const override { return 0.01; }

 protected:
  void launch(cudaStream_t stream, int copy) override {
    const DecodeArguments arguments{queries_.at(0),
                                    keys_.at(copy),
                                    values_.at(copy),
                                    pages_.table(),
                                    outputs_.at(0),
                                    splits_->partial(),
                                    static_cast<int>(tokens_),
                                    static_cast<int>(pages_.of_sequence()),
                                    static_cast<int>(heads_),
                                    static_cast<int>(kv_heads_),
                                    static_cast<int>(first_),
                                    static_cast<float>(kLogE / std::sqrt(static_cast<double>(size)))};
    const dim3 grid(static_cast<unsigned>(splits_->count), static_cast<unsigned>(kv_heads_), static_cast<unsigned>(batch_));
    decode<Kv, size><<<grid, kDecodeWarps * 32, shared_bytes, stream>>>(arguments);
    if (splits_->count > 1)
      combine<size><<<static_cast<unsigned>(batch_ * heads_), size / 2, 0, stream>>>(splits_->partial(), outputs_.at(0));
  }

 private:
  static constexpr int shared_bytes = decode_shared_bytes<Kv, size>();

  std::int64_t batch_, tokens_, heads_, kv_heads_, first_;
  std::uint64_t seed_;
  Pages pages_;
  Operand<Bfloat> queries_, outputs_;
  Operand<Kv> keys_, values_;
  std::unique_ptr<Splits> splits_;
};

template <int key_size, int value_size>
class Prefill final : public CudaKernel {
 public:
  Prefill(const Case& one, std::uint64_t seed, double bytes, int copies)
      : CudaKernel(bytes, copies),
        batch_(one.batch.value()),
        fresh_(one.tokens.value()),
        tokens_(one.context.value() + fresh_),
        heads_(one.heads.value()),
        kv_heads_(one.kv_heads.value_or(heads_)),
        window_(one.window.value_or(0)),
        seed_(seed),
        pages_(batch_, tokens_, seed),
        queries_(batch_ * fresh_ * heads_ * key_size, copies),
        outputs_(batch_ * fresh_ * heads_ * value_size, copies),
        keys_(pages_.slots() * kv_heads_ * key_size, copies),
        values_(pages_.slots() * kv_heads_ * value_size, copies) {
    fill(queries_, queries_.count(), seed, Array::query, kQueryScale);
    fill(keys_, keys_.count(), seed, Array::key);
    fill(values_, values_.count(), seed, Array::value);
    resident_blocks(prefill<key_size, value_size>, kPrefillWarps * 32, shared_bytes);
  }

  void poison() override { outputs_.poison(); }

  double error() override {
    RelativeNorm norm;
    const double scale = 1 / std::sqrt(static_cast<double>(key_size));
    for (const std::int64_t row : rows_to_check(batch_ * fresh_ * heads_, tokens_, key_size, seed_)) {
      const std::int64_t sequence = row / heads_ / fresh_;
      const std::int64_t kv_head = row % heads_ / (heads_ / kv_heads_);
      const std::int64_t last = tokens_ - fresh_ + row / heads_ % fresh_ + 1;
      const Seen seen{window_ > 0 ? std::max<std::int64_t>(0, last - window_) : 0, last, scale};
      const RowOf keys = rows_of<Bfloat>(pages_, seed_, Array::key, sequence, kv_heads_, kv_head, key_size);
      const RowOf values = rows_of<Bfloat>(pages_, seed_, Array::value, sequence, kv_heads_, kv_head, value_size);
      add_row(norm, outputs_, row, attend(query_row(seed_, row, key_size), seen, keys, values, value_size));
    }
    return norm.value();
  }

  double tolerance() const override { return 0.01; }

 protected:
  void launch(cudaStream_t stream, int copy) override {
    const PrefillArguments arguments{queries_.at(copy),         keys_.at(copy),
                                     values_.at(copy),          pages_.table(),
                                     outputs_.at(copy),         static_cast<int>(fresh_),
                                     static_cast<int>(tokens_), static_cast<int>(pages_.of_sequence()),
                                     static_cast<int>(heads_),  static_cast<int>(kv_heads_),
                                     static_cast<int>(window_), static_cast<float>(kLogE / std::sqrt(static_cast<double>(key_size)))};
    const dim3 grid(static_cast<unsigned>(heads_), static_cast<unsigned>(batch_),
                    static_cast<unsigned>((fresh_ + kPrefillRows - 1) / kPrefillRows));
    prefill<key_size, value_size><<<grid, kPrefillWarps * 32, shared_bytes, stream>>>(arguments);
  }

 private:
  static constexpr int shared_bytes = prefill_shared_bytes<key_size, value_size>();

  std::int64_t batch_, fresh_, tokens_, heads_, kv_heads_, window_;
  std::uint64_t seed_;
  Pages pages_;
  Operand<Bfloat> queries_, outputs_, keys_, values_;
};

template <int rows>
class Latent final : public CudaKernel {
 public:
  Latent(const Case& one, std::uint64_t seed, double bytes, int copies)
      : CudaKernel(bytes, copies),
        batch_(one.batch.value()),
        tokens_(one.context.value() + 1),
        heads_(one.heads.value()),
        seed_(seed),
        // Of a query before the absorption of the key projection.
        scale_(1 / std::sqrt(static_cast<double>(one.nope_dim.value() + one.rope_dim.value()))),
        pages_(batch_, tokens_, seed),
        queries_(batch_ * heads_ * kLatentRow, 1),
        outputs_(batch_ * heads_ * kLatent, 1),
        cache_(pages_.slots() * kLatentRow, copies) {
    fill(queries_, queries_.count(), seed, Array::query, kQueryScale);
    fill(cache_, cache_.count(), seed, Array::key);
    const int resident = resident_blocks(decode_latent<rows>, LatentBlock<rows>::threads, shared_bytes);
    splits_ =
        std::make_unique<Splits>(batch_ * heads_, kLatent, splits_for(batch_ * blocks_of_heads(), tokens_ / (4 * kLatentTokens), resident));
  }

  void poison() override {
    outputs_.poison();
    splits_->poison();
  }

  double error() override {
    RelativeNorm norm;
    for (const std::int64_t row : rows_to_check(batch_ * heads_, tokens_, kLatentRow, seed_)) {
      const RowOf cached = rows_of<Bfloat>(pages_, seed_, Array::key, row / heads_, 1, 0, kLatentRow);
      add_row(norm, outputs_, row, attend(query_row(seed_, row, kLatentRow), {0, tokens_, scale_}, cached, cached, kLatent));
    }
    return norm.value();
  }

  double tolerance() const override { return 0.01; }

 protected:
  void launch(cudaStream_t stream, int copy) override {
    const LatentArguments arguments{queries_.at(0),
                                    cache_.at(copy),
                                    pages_.table(),
                                    outputs_.at(0),
                                    splits_->partial(),
                                    static_cast<int>(tokens_),
                                    static_cast<int>(pages_.of_sequence()),
                                    static_cast<int>(heads_),
                                    static_cast<float>(scale_ * kLogE)};
    const dim3 grid(static_cast<unsigned>(splits_->count), static_cast<unsigned>(blocks_of_heads()), static_cast<unsigned>(batch_));
    decode_latent<rows><<<grid, LatentBlock<rows>::threads, shared_bytes, stream>>>(arguments);
    if (splits_->count > 1)
      combine<kLatent><<<static_cast<unsigned>(batch_ * heads_), kLatent / 2, 0, stream>>>(splits_->partial(), outputs_.at(0));
  }

 private:
  static constexpr int shared_bytes = latent_shared_bytes<rows>();
  std::int64_t blocks_of_heads() const { return (heads_ + rows - 1) / rows; }

  std::int64_t batch_, tokens_, heads_;
  std::uint64_t seed_;
  double scale_;
  Pages pages_;
  Operand<Bfloat> queries_, outputs_, cache_;
  std::unique_ptr<Splits> splits_;
};

double cache_bytes(const Case& one, std::int64_t tokens, double per_token) {
  return static_cast<double>(one.batch.value()) * static_cast<double>(tokens) * per_token;
}

template <class Kv>
std::unique_ptr<Kernel> make_decode_of(const Case& one, std::uint64_t seed) {
  const auto row = static_cast<double>(2 * one.kv_heads.value() * one.head_dim.value() * static_cast<std::int64_t>(sizeof(Kv)));
  const std::int64_t context = one.context.value() + 1;
  const std::int64_t seen = one.window.value_or(0) > 0 ? std::min(context, *one.window) : context;
  const double bytes = cache_bytes(one, seen, row);
  if (one.head_dim == 64) return std::make_unique<Decode<Kv, 64>>(one, seed, bytes, copies_for(bytes));
  if (one.head_dim == 128) return std::make_unique<Decode<Kv, 128>>(one, seed, bytes, copies_for(bytes));
  throw Unsupported("head sizes other than 64 and 128");
}

template <int key_size, int value_size>
std::unique_ptr<Kernel> make_prefill_of(const Case& one, std::uint64_t seed) {
  const std::int64_t kv_heads = one.kv_heads.value_or(one.heads.value());
  const double bytes =
      cache_bytes(one, one.context.value() + one.tokens.value(), static_cast<double>(2 * kv_heads * (key_size + value_size))) +
      cache_bytes(one, one.tokens.value(), static_cast<double>(2 * one.heads.value() * (key_size + value_size)));
  return std::make_unique<Prefill<key_size, value_size>>(one, seed, bytes, copies_for(bytes));
}

}  // namespace

std::unique_ptr<Kernel> make_decode(const Case& one, std::uint64_t seed) {
  if (one.format != "bf16") throw Unsupported("decode attention in " + one.format);
  if (one.kv == "bf16") return make_decode_of<Bfloat>(one, seed);
  if (one.kv == "fp8") return make_decode_of<Fp8>(one, seed);
  throw Unsupported("decode attention over a KV cache in " + one.kv);
}

std::unique_ptr<Kernel> make_prefill(const Case& one, std::uint64_t seed) {
  if (one.format != "bf16" || one.kv != "bf16") throw Unsupported("prefill attention in " + one.format + " over a KV cache in " + one.kv);
  if (one.operation == Operation::prefill_latent) {
    if (one.nope_dim.value() + one.rope_dim.value() == 192 && one.value_dim == 128) return make_prefill_of<192, 128>(one, seed);
    throw Unsupported("latent prefill with other sizes than 192 (keys) and 128 (values)");
  }
  if (one.head_dim == 64) return make_prefill_of<64, 64>(one, seed);
  if (one.head_dim == 128) return make_prefill_of<128, 128>(one, seed);
  throw Unsupported("head sizes other than 64 and 128");
}

std::unique_ptr<Kernel> make_latent(const Case& one, std::uint64_t seed) {
  if (one.format != "bf16" || one.kv != "bf16") throw Unsupported("latent attention in " + one.format + " over a KV cache in " + one.kv);
  if (one.latent != kLatent || one.rope_dim != kLatentRow - kLatent) throw Unsupported("latents of other sizes than 512 and 64");
  const double bytes = cache_bytes(one, one.context.value() + 1, 2 * kLatentRow);
  const bool wide = one.heads.value() > 16 && latent_shared_bytes<64>() <= machine().shared;
  if (wide) return std::make_unique<Latent<64>>(one, seed, bytes, copies_for(bytes));
  return std::make_unique<Latent<16>>(one, seed, bytes, copies_for(bytes));
}

}  // namespace marea::probe::cuda
