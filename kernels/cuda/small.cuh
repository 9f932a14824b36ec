// The small kernels of a layer, each one pass over its operands in chunks of 16 bytes: residual addition with RMSNorm, rotary embedding
// with the write of keys and values into the paged cache, the gated activation.
#pragma once

#include "kernels/cuda/decode.cuh"

namespace marea::probe::cuda {

// Eight bf16 values of a chunk, as floats.
struct Eight {
  float values[8];

  __device__ __forceinline__ static Eight of(const Bfloat* from) {
    Eight out;
    const Chunk chunk = *reinterpret_cast<const Chunk*>(from);
    const Bfloat* parts = reinterpret_cast<const Bfloat*>(&chunk);
#pragma unroll
    for (int i = 0; i < 8; ++i) out.values[i] = to_float(parts[i]);
    return out;
  }
  __device__ __forceinline__ void put(Bfloat* to) const {
    *reinterpret_cast<Chunk*>(to) = Chunk{pack<Bfloat>(values[0], values[1]), pack<Bfloat>(values[2], values[3]),
                                          pack<Bfloat>(values[4], values[5]), pack<Bfloat>(values[6], values[7])};
  }
};

constexpr int kNormThreads = 256;
constexpr int kMostHidden = kNormThreads * 8 * 8;

struct NormArguments {
  const Bfloat* input;     // [token][hidden]
  const Bfloat* residual;  // [token][hidden]
  const Bfloat* gain;      // [hidden]
  Bfloat* sum;             // input + residual, the next residual
  Bfloat* out;
  int hidden;  // a multiple of 8, at most kMostHidden
  float epsilon;
};

// One block a token. The sum is kept in registers between the two looks at it.
__global__ void __launch_bounds__(kNormThreads) add_norm(NormArguments arguments) {
  const std::int64_t at = static_cast<std::int64_t>(blockIdx.x) * arguments.hidden;
  Eight held[8];
  float squares = 0;
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const int column = (i * kNormThreads + static_cast<int>(threadIdx.x)) * 8;
    if (column >= arguments.hidden) break;
    const Eight left = Eight::of(arguments.input + at + column), right = Eight::of(arguments.residual + at + column);
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      held[i].values[j] = left.values[j] + right.values[j];
      squares += held[i].values[j] * held[i].values[j];
    }
    held[i].put(arguments.sum + at + column);
  }
  for (int mask = 16; mask > 0; mask /= 2) squares += shuffle_xor(squares, mask);
  auto* sums = reinterpret_cast<float*>(shared_memory());
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = squares;
  sync_block();
  float all = 0;
  for (int warp = 0; warp < kNormThreads / 32; ++warp) all += sums[warp];
  const float scale = rsqrtf(all / static_cast<float>(arguments.hidden) + arguments.epsilon);
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const int column = (i * kNormThreads + static_cast<int>(threadIdx.x)) * 8;
    if (column >= arguments.hidden) break;
    const Eight gain = Eight::of(arguments.gain + column);
#pragma unroll
    for (int j = 0; j < 8; ++j) held[i].values[j] *= scale * gain.values[j];
    held[i].put(arguments.out + at + column);
  }
}

struct RotaryArguments {
  const Bfloat* qkv;    // [token][heads + 2 KV heads][size]
  const float2* turns;  // [token][size / 2]: cosine and sine
  const int* slots;     // [token]: where in the cache
  Bfloat* queries;      // [token][head][size]
  Bfloat* keys;         // [slot][KV head][size]
  Bfloat* values;
  int tokens, heads, kv_heads, size;  // size: a multiple of 16
};

// A thread takes eight pairs: eight values of the first half of a head and their partners in the second.
__global__ void rotary(RotaryArguments arguments) {
  const int parts = arguments.size / 16;
  const int all = arguments.heads + 2 * arguments.kv_heads;
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= static_cast<std::int64_t>(arguments.tokens) * all * parts) return;
  const int part = static_cast<int>(i % parts);
  const int head = static_cast<int>(i / parts % all);
  const std::int64_t token = i / parts / all;
  const int half = arguments.size / 2;
  const Bfloat* from = arguments.qkv + (token * all + head) * arguments.size + part * 8;
  Eight low = Eight::of(from), high = Eight::of(from + half);
  if (head < arguments.heads + arguments.kv_heads) {
    const float2* turns = arguments.turns + token * half + part * 8;
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      const float2 turn = turns[j];
      const float x = low.values[j], y = high.values[j];
      low.values[j] = x * turn.x - y * turn.y;
      high.values[j] = y * turn.x + x * turn.y;
    }
  }
  Bfloat* to;
  if (head < arguments.heads) {
    to = arguments.queries + (token * arguments.heads + head) * arguments.size;
  } else {
    const bool key = head < arguments.heads + arguments.kv_heads;
    const int kv_head = head - arguments.heads - (key ? 0 : arguments.kv_heads);
    const std::int64_t slot = arguments.slots[token];
    to = (key ? arguments.keys : arguments.values) + (slot * arguments.kv_heads + kv_head) * arguments.size;
  }
  low.put(to + part * 8);
  high.put(to + part * 8 + half);
}

// out [token][width] = silu(gate) * up; gate_up is [token][gate, then up]. Width a multiple of 8.
__global__ void gated_activation(const Bfloat* gate_up, Bfloat* out, std::int64_t tokens, int width) {
  const std::int64_t i = (static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) * 8;
  if (i >= tokens * width) return;
  const std::int64_t token = i / width;
  const int column = static_cast<int>(i % width);
  const Eight gate = Eight::of(gate_up + token * 2 * width + column), up = Eight::of(gate_up + token * 2 * width + width + column);
  Eight result;
#pragma unroll
  for (int j = 0; j < 8; ++j) result.values[j] = gate.values[j] / (1 + exp2_fast(-1.44269504f * gate.values[j])) * up.values[j];
  result.put(out + i);
}

}  // namespace marea::probe::cuda
