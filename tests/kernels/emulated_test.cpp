// The CUDA kernels of attention, small kernels and memory on a block of fibers, against the references: their indices, masks, waits and
// merging of splits, wherever there is no GPU. What only a GPU can say, speed and its own arithmetic, `marea-probe --check` asks there.
#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "kernels/cuda/decode.cuh"
#include "kernels/cuda/latent.cuh"
#include "kernels/cuda/memory.cuh"
#include "kernels/cuda/prefill.cuh"
#include "kernels/cuda/small.cuh"
#include "kernels/draws.h"
#include "kernels/reference.h"

using namespace marea::probe;
using namespace marea::probe::cuda;

namespace {

constexpr float kLogE = 1.44269504f;
constexpr std::uint64_t kSeed = 77;
constexpr double kTolerance = 0.01;  // weights and outputs are rounded to 8 bits of mantissa

Bfloat nan_of(Bfloat) { return Eigen::numext::bit_cast<Bfloat>(std::uint16_t{0xffff}); }
Fp8 nan_of(Fp8) { return {0xff}; }

// The nearest fp8 value.
Fp8 to_fp8(float value) {
  static const std::vector<std::pair<float, std::uint8_t>> all = [] {
    std::vector<std::pair<float, std::uint8_t>> out;
    for (int bits = 0; bits < 256; ++bits)
      if (!std::isnan(fp8_value(static_cast<std::uint8_t>(bits))))
        out.push_back({fp8_value(static_cast<std::uint8_t>(bits)), static_cast<std::uint8_t>(bits)});
    std::sort(out.begin(), out.end());
    return out;
  }();
  const auto nearer = [&](const auto& left, const auto& right) { return std::abs(left.first - value) < std::abs(right.first - value); };
  return {std::min_element(all.begin(), all.end(), nearer)->second};
}

void put(float value, Bfloat& to) { to = Bfloat(value); }
void put(float value, Fp8& to) { to = to_fp8(value); }
float get(Bfloat value) { return static_cast<float>(value); }
float get(Fp8 value) { return fp8_value(value.bits); }

template <class Value>
std::vector<Value> drawn(std::size_t count, Array array, float scale = 1) {
  std::vector<float> row((count + 3) / 4 * 4);
  draw_row(kSeed, array, 0, row);
  std::vector<Value> out(count);
  for (std::size_t i = 0; i < count; ++i) put(row[i] * scale, out[i]);
  return out;
}

// A paged cache in which every place that holds no token is NaN: [page][token of page][head][size].
template <class Value>
struct Cache {
  int sequences, tokens, heads, size, pages;
  std::vector<int> table;
  std::vector<Value> values;

  Cache(int the_sequences, int the_tokens, int the_heads, int the_size, Array array, const std::vector<int>* other = nullptr)
      : sequences(the_sequences), tokens(the_tokens), heads(the_heads), size(the_size), pages((the_tokens + kPage - 1) / kPage) {
    table.resize(static_cast<std::size_t>(sequences * pages));
    std::iota(table.begin(), table.end(), 1);
    std::shuffle(table.begin(), table.end(), std::mt19937_64(kSeed));
    if (other != nullptr) table = *other;
    values.assign((table.size() + 1) * kPage * static_cast<std::size_t>(heads * size), nan_of(Value{}));
    const std::vector<Value> all = drawn<Value>(static_cast<std::size_t>(sequences * tokens * heads * size), array);
    for (int sequence = 0; sequence < sequences; ++sequence)
      for (int token = 0; token < tokens; ++token)
        for (int i = 0; i < heads * size; ++i)
          values[place(sequence, token, 0) + static_cast<std::size_t>(i)] =
              all[static_cast<std::size_t>((sequence * tokens + token) * heads * size + i)];
  }
  std::size_t place(int sequence, int token, int head) const {
    const int page = table[static_cast<std::size_t>(sequence * pages + token / kPage)];
    return static_cast<std::size_t>(((page * kPage + token % kPage) * heads + head) * size);
  }
  RowOf row(int sequence, int head) const {
    return [this, sequence, head](std::int64_t token, std::span<float> out) {
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = get(values[place(sequence, static_cast<int>(token), head) + i]);
    };
  }
};

std::vector<Bfloat> poisoned(std::size_t count) { return std::vector<Bfloat>(count, nan_of(Bfloat{})); }

struct Splits {
  std::vector<float> values, logarithms;
  Partial partial;
  Splits(int rows, int size, int splits)
      : values(static_cast<std::size_t>(rows * size * splits), NAN), logarithms(static_cast<std::size_t>(rows * splits), NAN) {
    partial = {values.data(), logarithms.data(), splits};
  }
};

std::vector<float> floats_of(const Bfloat* from, int size) {
  std::vector<float> out;
  for (int i = 0; i < size; ++i) out.push_back(get(from[i]));
  return out;
}

struct Shape {
  int sequences, tokens, heads, kv_heads, splits;
  int first = 0;
};

template <class Kv, int size>
double decode_error(const Shape& shape) {
  const Cache<Kv> keys(shape.sequences, shape.tokens, shape.kv_heads, size, Array::key);
  const Cache<Kv> values(shape.sequences, shape.tokens, shape.kv_heads, size, Array::value, &keys.table);
  const int rows = shape.sequences * shape.heads;
  const std::vector<Bfloat> queries = drawn<Bfloat>(static_cast<std::size_t>(rows * size), Array::query, kQueryScale);
  std::vector<Bfloat> outputs = poisoned(queries.size());
  Splits splits(rows, size, shape.splits);
  DecodeArguments arguments{queries.data(), keys.values.data(), values.values.data(), keys.table.data(),
                            outputs.data(), splits.partial,     shape.tokens,         keys.pages,
                            shape.heads,    shape.kv_heads,     shape.first,          kLogE / std::sqrt(static_cast<float>(size))};
  emulated::launch({static_cast<unsigned>(shape.splits), static_cast<unsigned>(shape.kv_heads), static_cast<unsigned>(shape.sequences)},
                   kDecodeWarps * 32, decode_shared_bytes<Kv, size>(), [&] { decode<Kv, size>(arguments); });
  if (shape.splits > 1) emulated::launch({static_cast<unsigned>(rows)}, 64, 0, [&] { combine<size>(splits.partial, outputs.data()); });
  RelativeNorm norm;
  for (int row = 0; row < rows; ++row) {
    const int kv_head = row % shape.heads / (shape.heads / shape.kv_heads);
    const auto expected =
        attend(floats_of(queries.data() + row * size, size), {shape.first, shape.tokens, 1 / std::sqrt(static_cast<double>(size))},
               keys.row(row / shape.heads, kv_head), values.row(row / shape.heads, kv_head), size);
    for (int i = 0; i < size; ++i) norm.add(get(outputs[static_cast<std::size_t>(row * size + i)]), expected[static_cast<std::size_t>(i)]);
  }
  return norm.value();
}

template <int key_size, int value_size>
double prefill_error(int sequences, int fresh, int cached, int heads, int kv_heads, int window) {
  const int tokens = cached + fresh;
  const Cache<Bfloat> keys(sequences, tokens, kv_heads, key_size, Array::key);
  const Cache<Bfloat> values(sequences, tokens, kv_heads, value_size, Array::value, &keys.table);
  const int rows = sequences * fresh * heads;
  const std::vector<Bfloat> queries = drawn<Bfloat>(static_cast<std::size_t>(rows * key_size), Array::query, kQueryScale);
  std::vector<Bfloat> outputs = poisoned(static_cast<std::size_t>(rows * value_size));
  PrefillArguments arguments{queries.data(),
                             keys.values.data(),
                             values.values.data(),
                             keys.table.data(),
                             outputs.data(),
                             fresh,
                             tokens,
                             keys.pages,
                             heads,
                             kv_heads,
                             window,
                             kLogE / std::sqrt(static_cast<float>(key_size))};
  const auto tiles = static_cast<unsigned>((fresh + kPrefillRows - 1) / kPrefillRows);
  emulated::launch({static_cast<unsigned>(heads), static_cast<unsigned>(sequences), tiles}, kPrefillWarps * 32,
                   prefill_shared_bytes<key_size, value_size>(), [&] { prefill<key_size, value_size>(arguments); });
  RelativeNorm norm;
  for (int row = 0; row < rows; ++row) {
    const int sequence = row / heads / fresh;
    const int kv_head = row % heads / (heads / kv_heads);
    const std::int64_t last = cached + row / heads % fresh + 1;
    const Seen seen{window > 0 ? std::max<std::int64_t>(0, last - window) : 0, last, 1 / std::sqrt(static_cast<double>(key_size))};
    const auto expected = attend(floats_of(queries.data() + row * key_size, key_size), seen, keys.row(sequence, kv_head),
                                 values.row(sequence, kv_head), value_size);
    for (int i = 0; i < value_size; ++i)
      norm.add(get(outputs[static_cast<std::size_t>(row * value_size + i)]), expected[static_cast<std::size_t>(i)]);
  }
  return norm.value();
}

template <int rows_of_block>
double latent_error(int sequences, int tokens, int heads, int split_count) {
  const Cache<Bfloat> cache(sequences, tokens, 1, kLatentRow, Array::key);
  const int rows = sequences * heads;
  const std::vector<Bfloat> queries = drawn<Bfloat>(static_cast<std::size_t>(rows * kLatentRow), Array::query, kQueryScale);
  std::vector<Bfloat> outputs = poisoned(static_cast<std::size_t>(rows * kLatent));
  Splits splits(rows, kLatent, split_count);
  const double scale = 1 / std::sqrt(static_cast<double>(kLatentRow));
  LatentArguments arguments{queries.data(),
                            cache.values.data(),
                            cache.table.data(),
                            outputs.data(),
                            splits.partial,
                            tokens,
                            cache.pages,
                            heads,
                            static_cast<float>(scale) * kLogE};
  emulated::launch({static_cast<unsigned>(split_count), static_cast<unsigned>((heads + rows_of_block - 1) / rows_of_block),
                    static_cast<unsigned>(sequences)},
                   LatentBlock<rows_of_block>::threads, latent_shared_bytes<rows_of_block>(),
                   [&] { decode_latent<rows_of_block>(arguments); });
  if (split_count > 1) emulated::launch({static_cast<unsigned>(rows)}, 128, 0, [&] { combine<kLatent>(splits.partial, outputs.data()); });
  RelativeNorm norm;
  for (int row = 0; row < rows; ++row) {
    const RowOf tokens_of = cache.row(row / heads, 0);
    const auto expected =
        attend(floats_of(queries.data() + row * kLatentRow, kLatentRow), {0, tokens, scale}, tokens_of, tokens_of, kLatent);
    for (int i = 0; i < kLatent; ++i)
      norm.add(get(outputs[static_cast<std::size_t>(row * kLatent + i)]), expected[static_cast<std::size_t>(i)]);
  }
  return norm.value();
}

}  // namespace

TEST_CASE("the emulated block finds waits that never end and copies nobody waits for") {
  CHECK_THROWS_WITH_AS(emulated::launch({}, 64, 0,
                                        [] {
                                          if (emulated::thread() != 5) emulated::wait_for_block();
                                        }),
                       "threads wait for each other for ever", std::runtime_error);
  const Chunk chunk{};
  CHECK_THROWS_WITH_AS(emulated::launch({}, 32, 16, [&] { copy_chunk(shared_memory(), &chunk, true); }),
                       "a thread ended with copies under way", std::runtime_error);
}

TEST_CASE("decode attention in bf16: groups, pages cut short, splits, windows") {
  CHECK(decode_error<Bfloat, 64>({2, 37, 4, 2, 1}) < kTolerance);
  CHECK(decode_error<Bfloat, 128>({1, 200, 8, 1, 1}) < kTolerance);
  CHECK(decode_error<Bfloat, 128>({1, 1, 2, 2, 1}) < kTolerance);        // the new token alone
  CHECK(decode_error<Bfloat, 64>({1, 333, 16, 1, 3}) < kTolerance);      // a whole fragment of heads; splits of 7 pages
  CHECK(decode_error<Bfloat, 64>({1, 40, 2, 1, 5}) < kTolerance);        // more splits than pages: empty ones
  CHECK(decode_error<Bfloat, 64>({1, 300, 2, 1, 2, 171}) < kTolerance);  // a window that begins inside a page
}

TEST_CASE("decode attention over an fp8 cache") {
  CHECK(decode_error<Fp8, 64>({2, 45, 4, 2, 1}) < kTolerance);
  CHECK(decode_error<Fp8, 128>({1, 150, 8, 2, 2}) < kTolerance);
}

TEST_CASE("prefill attention: tiles, cached context, windows, groups") {
  CHECK(prefill_error<64, 64>(1, 150, 0, 2, 1, 0) < kTolerance);
  CHECK(prefill_error<64, 64>(2, 20, 90, 2, 2, 0) < kTolerance);
  CHECK(prefill_error<64, 64>(1, 140, 100, 1, 1, 70) < kTolerance);
  CHECK(prefill_error<128, 128>(1, 70, 33, 2, 1, 0) < kTolerance);
  CHECK(prefill_error<192, 128>(1, 50, 0, 1, 1, 0) < kTolerance);
}

TEST_CASE("decode attention over latents: rows, tiles cut short, splits") {
  CHECK(latent_error<16>(2, 45, 16, 1) < kTolerance);
  CHECK(latent_error<16>(1, 100, 20, 2) < kTolerance);  // the second block of heads is not full
  CHECK(latent_error<64>(1, 70, 64, 1) < kTolerance);
  CHECK(latent_error<64>(1, 33, 40, 3) < kTolerance);  // the last split is empty
}

TEST_CASE("addition and norm") {
  for (const int hidden : {8, 2056, 5120}) {
    const int tokens = 3;
    const auto size = static_cast<std::size_t>(tokens * hidden);
    const std::vector<Bfloat> input = drawn<Bfloat>(size, Array::input), residual = drawn<Bfloat>(size, Array::residual);
    const std::vector<Bfloat> gain = drawn<Bfloat>(static_cast<std::size_t>(hidden), Array::gain);
    std::vector<Bfloat> sum = poisoned(size), out = poisoned(size);
    const NormArguments arguments{input.data(), residual.data(), gain.data(), sum.data(), out.data(), hidden, 1e-5f};
    emulated::launch({3}, kNormThreads, 64, [&] { add_norm(arguments); });
    RelativeNorm norm, sums;
    for (int token = 0; token < tokens; ++token) {
      const auto expected = add_and_norm(floats_of(input.data() + token * hidden, hidden),
                                         floats_of(residual.data() + token * hidden, hidden), floats_of(gain.data(), hidden), 1e-5);
      for (int i = 0; i < hidden; ++i) {
        const auto at = static_cast<std::size_t>(token * hidden + i);
        norm.add(get(out[at]), expected[static_cast<std::size_t>(i)]);
        sums.add(get(sum[at]), get(input[at]) + get(residual[at]));
      }
    }
    CHECK(norm.value() < kTolerance);
    CHECK(sums.value() < kTolerance);
  }
}

TEST_CASE("rotary embedding turns queries and keys, and writes keys and values where the slots say") {
  const int tokens = 5, heads = 4, kv_heads = 2, size = 32, all = heads + 2 * kv_heads;
  const std::vector<Bfloat> qkv = drawn<Bfloat>(tokens * all * size, Array::query);
  const std::vector<int> slots = {9, 0, 4, 17, 3};
  std::vector<float2> turns;
  for (int token = 0; token < tokens; ++token)
    for (int i = 0; i < size / 2; ++i) {
      const double angle = (token + 3) * std::pow(10000.0, -2.0 * i / size);
      turns.push_back({static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))});
    }
  std::vector<Bfloat> queries = poisoned(tokens * heads * size), keys = poisoned(20 * kv_heads * size), values = keys;
  const RotaryArguments arguments{qkv.data(),    turns.data(), slots.data(), queries.data(), keys.data(),
                                  values.data(), tokens,       heads,        kv_heads,       size};
  emulated::launch({2}, 64, 0, [&] { rotary(arguments); });
  RelativeNorm norm;
  for (int token = 0; token < tokens; ++token)
    for (int head = 0; head < all; ++head) {
      const std::vector<float> from = floats_of(qkv.data() + (token * all + head) * size, size);
      const bool turned = head < heads + kv_heads;
      const std::vector<double> expected = turned ? rotate(from, token + 3, 10000) : std::vector<double>(from.begin(), from.end());
      const int slot = slots[static_cast<std::size_t>(token)];
      const Bfloat* out = head < heads ? queries.data() + (token * heads + head) * size
                          : turned     ? keys.data() + (slot * kv_heads + head - heads) * size
                                       : values.data() + (slot * kv_heads + head - heads - kv_heads) * size;
      for (int i = 0; i < size; ++i) norm.add(get(out[i]), expected[static_cast<std::size_t>(i)]);
    }
  CHECK(norm.value() < kTolerance);
}

TEST_CASE("gated activation") {
  const int tokens = 3, width = 24;
  const std::vector<Bfloat> both = drawn<Bfloat>(tokens * 2 * width, Array::gate, 4);
  std::vector<Bfloat> out = poisoned(tokens * width);
  emulated::launch({2}, 32, 0, [&] { gated_activation(both.data(), out.data(), tokens, width); });
  RelativeNorm norm;
  for (int token = 0; token < tokens; ++token)
    for (int i = 0; i < width; ++i)
      norm.add(get(out[static_cast<std::size_t>(token * width + i)]),
               gated(get(both[static_cast<std::size_t>(token * 2 * width + i)]),
                     get(both[static_cast<std::size_t>(token * 2 * width + width + i)])));
  CHECK(norm.value() < kTolerance);
}

TEST_CASE("streams read, write and copy every chunk once") {
  std::mt19937 bits(5);
  std::vector<Chunk> from(5000), to(5000), results(2 * kStreamThreads);
  Chunk expected{};
  for (Chunk& chunk : from) {
    chunk = {static_cast<unsigned>(bits()), static_cast<unsigned>(bits()), static_cast<unsigned>(bits()), static_cast<unsigned>(bits())};
    expected = mix(expected, chunk);
  }
  emulated::launch({2}, kStreamThreads, 0, [&] { read_chunks(from.data(), 5000, results.data()); });
  Chunk sum{};
  for (const Chunk& chunk : results) sum = mix(sum, chunk);
  CHECK(std::memcmp(&sum, &expected, sizeof sum) == 0);
  emulated::launch({2}, kStreamThreads, 0, [&] { copy_chunks(from.data(), to.data(), 4999); });
  CHECK(std::memcmp(to.data(), from.data(), 4999 * sizeof(Chunk)) == 0);
  CHECK(to[4999].x + to[4999].y + to[4999].z + to[4999].w == 0);
  emulated::launch({2}, kStreamThreads, 0, [&] { write_chunks(to.data(), 4999, Chunk{1, 2, 3, 4}); });
  for (std::size_t i = 0; i < 4999; ++i) CHECK_UNARY(to[i].x == 1 && to[i].w == 4);
}

TEST_CASE("blocks move between their places and a row, there and back") {
  const std::vector<int> places = {3, 0, 5};
  const std::int64_t chunks = 600;
  std::vector<Chunk> pool(6 * 600), row(3 * 600), again(6 * 600);
  for (std::size_t i = 0; i < pool.size(); ++i) pool[i].y = static_cast<unsigned>(i);
  emulated::launch({2, 3}, kStreamThreads, 0, [&] { move_blocks(pool.data(), row.data(), places.data(), chunks, true); });
  for (std::size_t i = 0; i < row.size(); ++i) CHECK_UNARY(row[i].y == static_cast<unsigned>(places[i / 600]) * 600 + i % 600);
  emulated::launch({2, 3}, kStreamThreads, 0, [&] { move_blocks(again.data(), row.data(), places.data(), chunks, false); });
  for (const int place : places) CHECK(std::memcmp(again.data() + place * 600, pool.data() + place * 600, 600 * sizeof(Chunk)) == 0);
}
