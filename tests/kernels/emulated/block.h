// A CUDA block on one CPU thread: every thread of it is a fiber that runs until it must wait for others. Enough of the machine to try
// kernels for right results, waits that are missing included: asynchronous copies happen at the last moment that the rules allow.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace marea::probe::emulated {

struct Dimensions {
  unsigned x = 1, y = 1, z = 1;
};

// What the fibers of a warp hand each other in one collective instruction.
struct Exchange {
  std::array<std::array<std::uint64_t, 8>, 32> words{};
};

// Runs `kernel` for every thread of every block of the grid, with that much shared memory for a block. Throws std::runtime_error when
// threads wait for each other for ever, or a thread ends with copies that nobody waited for.
void launch(Dimensions grid, unsigned threads, std::size_t shared_bytes, const std::function<void()>& kernel);

// Of the fiber that runs.
unsigned thread();
Dimensions block();
Dimensions grid();
unsigned threads_of_block();
unsigned char* shared();
void wait_for_block();
void wait_for_warp();
// The warp's exchange after every lane has put its words in.
const Exchange& exchange(const std::array<std::uint64_t, 8>& mine);
void start_copy(void* to, const void* from, bool wanted);
void close_copies();
void wait_for_all_but(std::size_t groups);

}  // namespace marea::probe::emulated
