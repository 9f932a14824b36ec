// What the kernels need from the hardware below C++: matrix fragments, asynchronous copies, exchanges within a warp. All PTX of the probe
// is here, so that the kernels above can be read, and tried on a CPU, as plain C++.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cstdint>

namespace marea::probe::cuda {

using Bfloat = __nv_bfloat16;
using Half = __half;
using Fp8 = __nv_fp8_e4m3;

// Sixteen bytes, moved at once.
using Chunk = uint4;

// The dynamic shared memory of the block.
__device__ __forceinline__ unsigned char* shared_memory() {
  extern __shared__ __align__(128) unsigned char bytes[];
  return bytes;
}

__device__ __forceinline__ void sync_block() { __syncthreads(); }
__device__ __forceinline__ void sync_warp() { __syncwarp(); }
__device__ __forceinline__ float shuffle_xor(float value, int mask) { return __shfl_xor_sync(0xffffffffu, value, mask); }
__device__ __forceinline__ float exp2_fast(float value) {
  float out;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(out) : "f"(value));
  return out;
}

__device__ __forceinline__ float to_float(float value) { return value; }
__device__ __forceinline__ float to_float(Bfloat value) { return __bfloat162float(value); }
__device__ __forceinline__ float to_float(Half value) { return __half2float(value); }

template <class Value>
__device__ __forceinline__ Value from_float(float value);
template <>
__device__ __forceinline__ float from_float<float>(float value) {
  return value;
}
template <>
__device__ __forceinline__ Bfloat from_float<Bfloat>(float value) {
  return __float2bfloat16_rn(value);
}
template <>
__device__ __forceinline__ Half from_float<Half>(float value) {
  return __float2half_rn(value);
}

// Two values in a register, the first in the lower half.
template <class Value>
__device__ __forceinline__ std::uint32_t pack(float first, float second);
template <>
__device__ __forceinline__ std::uint32_t pack<Bfloat>(float first, float second) {
  const __nv_bfloat162 both = __floats2bfloat162_rn(first, second);
  return *reinterpret_cast<const std::uint32_t*>(&both);
}
template <>
__device__ __forceinline__ std::uint32_t pack<Half>(float first, float second) {
  const __half2 both = __floats2half2_rn(first, second);
  return *reinterpret_cast<const std::uint32_t*>(&both);
}

// Two fp8 values (lower byte first) as two fp16 values in a register. Exact.
__device__ __forceinline__ std::uint32_t fp8_pair_to_half(std::uint16_t two) {
  const __half2_raw both = __nv_cvt_fp8x2_to_halfraw2(two, __NV_E4M3);
  return static_cast<std::uint32_t>(both.x) | static_cast<std::uint32_t>(both.y) << 16;
}

// ldmatrix.x4: four 8 x 8 matrices of 16-bit values; lane i names row i % 8 of matrix i / 8 in shared memory. Afterwards lane i holds of
// each matrix the row i / 4, columns 2 (i % 4) and the next; transposed: the column i / 4, rows 2 (i % 4) and the next.
__device__ __forceinline__ void load_matrices(std::uint32_t (&out)[4], const void* row) {
  const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
               : "r"(address)
               : "memory");
}
__device__ __forceinline__ void load_matrices_transposed(std::uint32_t (&out)[4], const void* row) {
  const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
               : "r"(address)
               : "memory");
}

// mma.m16n8k16: sums [16 x 8] += left [16 x 16] x right [16 x 8], with fp32 sums. With g = lane / 4 and t = lane % 4 a lane holds
//   left   a0: row g, columns 2t, 2t+1; a1: row g+8; a2: row g, columns 2t+8, 2t+9; a3: row g+8, the same
//   right  b0: rows 2t, 2t+1 of column g; b1: rows 2t+8, 2t+9
//   sums   0, 1: row g, columns 2t, 2t+1; 2, 3: row g+8
template <class Value>
__device__ __forceinline__ void multiply(float (&sums)[4], const std::uint32_t (&left)[4], std::uint32_t right0, std::uint32_t right1);
template <>
__device__ __forceinline__ void multiply<Bfloat>(float (&sums)[4], const std::uint32_t (&left)[4], std::uint32_t right0,
                                                 std::uint32_t right1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
               : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right0), "r"(right1));
}
template <>
__device__ __forceinline__ void multiply<Half>(float (&sums)[4], const std::uint32_t (&left)[4], std::uint32_t right0,
                                               std::uint32_t right1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
               : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right0), "r"(right1));
}

// Starts the copy of a chunk from global to shared memory; zeros instead where it is not `wanted`.
__device__ __forceinline__ void copy_chunk(void* to, const void* from, bool wanted) {
  const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(to));
  const int bytes = wanted ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(from), "r"(bytes) : "memory");
}
// Copies started since the last call belong together; `wait_for_all_but` waits until at most N such groups are under way.
__device__ __forceinline__ void close_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int groups>
__device__ __forceinline__ void wait_for_all_but() {
  asm volatile("cp.async.wait_group %0;" ::"n"(groups) : "memory");
}

}  // namespace marea::probe::cuda
