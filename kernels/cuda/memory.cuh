// Streaming kernels: read, write and copy of device memory, gather and scatter of KV blocks, all in chunks of 16 bytes.
#pragma once

#include "kernels/cuda/device.cuh"

namespace marea::probe::cuda {

constexpr int kStreamThreads = 512;
constexpr int kAtOnce = 4;  // chunks a thread has under way

__device__ __forceinline__ Chunk mix(Chunk left, Chunk right) {
  return Chunk{left.x ^ right.x, left.y ^ right.y, left.z ^ right.z, left.w ^ right.w};
}

// The exclusive or of all chunks, one result a thread: [block][thread]. Its exclusive or over threads is checked.
__global__ void __launch_bounds__(kStreamThreads) read_chunks(const Chunk* from, std::int64_t count, Chunk* results) {
  Chunk sum{0, 0, 0, 0};
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kStreamThreads;
  const std::int64_t me = static_cast<std::int64_t>(blockIdx.x) * kStreamThreads + threadIdx.x;
  for (std::int64_t i = me; i < count; i += kAtOnce * step) {
    Chunk held[kAtOnce];
#pragma unroll
    for (int j = 0; j < kAtOnce; ++j) held[j] = i + j * step < count ? from[i + j * step] : Chunk{0, 0, 0, 0};
#pragma unroll
    for (int j = 0; j < kAtOnce; ++j) sum = mix(sum, held[j]);
  }
  results[me] = sum;
}

__global__ void __launch_bounds__(kStreamThreads) write_chunks(Chunk* to, std::int64_t count, Chunk value) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kStreamThreads;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kStreamThreads + threadIdx.x; i < count; i += step) to[i] = value;
}

__global__ void __launch_bounds__(kStreamThreads) copy_chunks(const Chunk* from, Chunk* to, std::int64_t count) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kStreamThreads;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kStreamThreads + threadIdx.x; i < count; i += kAtOnce * step) {
    Chunk held[kAtOnce];
#pragma unroll
    for (int j = 0; j < kAtOnce; ++j)
      if (i + j * step < count) held[j] = from[i + j * step];
#pragma unroll
    for (int j = 0; j < kAtOnce; ++j)
      if (i + j * step < count) to[i + j * step] = held[j];
  }
}

// Blocks of `chunks` at `places` of a pool, to a row (gather) or from it (scatter). Grid: parts of a block, blocks.
__global__ void __launch_bounds__(kStreamThreads)
    move_blocks(Chunk* pool, Chunk* row, const int* places, std::int64_t chunks, bool gather) {
  Chunk* in_pool = pool + places[blockIdx.y] * chunks;
  Chunk* in_row = row + blockIdx.y * chunks;
  const Chunk* from = gather ? in_pool : in_row;
  Chunk* to = gather ? in_row : in_pool;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kStreamThreads;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kStreamThreads + threadIdx.x; i < chunks; i += step) to[i] = from[i];
}

}  // namespace marea::probe::cuda
