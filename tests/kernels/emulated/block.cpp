// Fibers by ucontext, one block at a time.
#include "tests/kernels/emulated/block.h"

#include <ucontext.h>

#include <cstring>
#include <stdexcept>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

namespace marea::probe::emulated {

namespace {

constexpr std::size_t kStack = 128 << 10;

struct Copy {
  void* to;
  const void* from;
  bool wanted;
};

struct Barrier {
  unsigned arrived = 0;
  std::uint64_t generation = 0;
};

struct Fiber {
  ucontext_t context{};
  std::unique_ptr<unsigned char[]> stack;
  void* fake_stack = nullptr;  // the address sanitizer's
  bool done = false;
  std::vector<Copy> open;                 // started, not yet in a group
  std::vector<std::vector<Copy>> groups;  // closed, oldest first
  std::uint64_t collectives = 0;
};

struct Warp {
  Barrier barrier;
  std::array<Exchange, 2> exchanges;  // used in turn, so that a lane ahead by one does no harm
};

struct Block {
  Dimensions place, grid;
  std::vector<Fiber> fibers;
  std::vector<Warp> warps;
  Barrier barrier;
  std::vector<unsigned char> shared;
  const std::function<void()>* kernel = nullptr;
  ucontext_t scheduler{};
  void* scheduler_stack = nullptr;
  const void* scheduler_bottom = nullptr;
  std::size_t scheduler_size = 0;
  unsigned running = 0;
  std::uint64_t progress = 0;  // barriers passed and fibers ended
  std::exception_ptr failure;
};

Block* current = nullptr;

void enter_fiber([[maybe_unused]] Fiber& fiber) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&current->scheduler_stack, fiber.stack.get(), kStack);
#endif
  ::swapcontext(&current->scheduler, &fiber.context);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(current->scheduler_stack, nullptr, nullptr);
#endif
}

void leave_fiber(Fiber& fiber, [[maybe_unused]] bool for_ever) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(for_ever ? nullptr : &fiber.fake_stack, current->scheduler_bottom, current->scheduler_size);
#endif
  ::swapcontext(&fiber.context, &current->scheduler);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(fiber.fake_stack, &current->scheduler_bottom, &current->scheduler_size);
#endif
}

void run_fiber() {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(nullptr, &current->scheduler_bottom, &current->scheduler_size);
#endif
  Fiber& fiber = current->fibers[current->running];
  try {
    (*current->kernel)();
    for (const std::vector<Copy>& group : fiber.groups)
      if (!group.empty()) throw std::runtime_error("a thread ended with copies under way");
    if (!fiber.open.empty()) throw std::runtime_error("a thread ended with copies under way");
  } catch (...) {
    current->failure = std::current_exception();
  }
  fiber.done = true;
  ++current->progress;
  leave_fiber(fiber, true);
}

void wait(Barrier& barrier, unsigned all) {
  const std::uint64_t generation = barrier.generation;
  if (++barrier.arrived == all) {
    barrier.arrived = 0;
    ++barrier.generation;
    ++current->progress;
    return;
  }
  while (barrier.generation == generation) leave_fiber(current->fibers[current->running], false);
}

void run_block(Block& block, unsigned threads) {
  current = &block;
  block.fibers = std::vector<Fiber>(threads);
  block.warps = std::vector<Warp>((threads + 31) / 32);
  for (Fiber& fiber : block.fibers) {
    fiber.stack = std::make_unique<unsigned char[]>(kStack);
    ::getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.get();
    fiber.context.uc_stack.ss_size = kStack;
    fiber.context.uc_link = nullptr;
    ::makecontext(&fiber.context, run_fiber, 0);
  }
  for (bool live = true; live;) {
    live = false;
    const std::uint64_t before = block.progress;
    for (unsigned i = 0; i < threads; ++i) {
      if (block.fibers[i].done) continue;
      live = true;
      block.running = i;
      enter_fiber(block.fibers[i]);
      if (block.failure) std::rethrow_exception(block.failure);
    }
    if (live && block.progress == before) throw std::runtime_error("threads wait for each other for ever");
  }
}

}  // namespace

void launch(Dimensions grid, unsigned threads, std::size_t shared_bytes, const std::function<void()>& kernel) {
  for (unsigned z = 0; z < grid.z; ++z)
    for (unsigned y = 0; y < grid.y; ++y)
      for (unsigned x = 0; x < grid.x; ++x) {
        Block block;
        block.place = {x, y, z};
        block.grid = grid;
        block.kernel = &kernel;
        block.shared.assign(shared_bytes, 0xff);  // NaN, whatever is read from it
        run_block(block, threads);
      }
}

unsigned thread() { return current->running; }
Dimensions block() { return current->place; }
Dimensions grid() { return current->grid; }
unsigned threads_of_block() { return static_cast<unsigned>(current->fibers.size()); }
unsigned char* shared() { return current->shared.data(); }
void wait_for_block() { wait(current->barrier, threads_of_block()); }
void wait_for_warp() { wait(current->warps[current->running / 32].barrier, 32); }

const Exchange& exchange(const std::array<std::uint64_t, 8>& mine) {
  Warp& warp = current->warps[current->running / 32];
  Exchange& slot = warp.exchanges[current->fibers[current->running].collectives++ % 2];
  slot.words[current->running % 32] = mine;
  wait(warp.barrier, 32);
  return slot;
}

void start_copy(void* to, const void* from, bool wanted) { current->fibers[current->running].open.push_back({to, from, wanted}); }

void close_copies() {
  Fiber& fiber = current->fibers[current->running];
  fiber.groups.push_back(std::move(fiber.open));
  fiber.open.clear();
}

void wait_for_all_but(std::size_t groups) {
  Fiber& fiber = current->fibers[current->running];
  while (fiber.groups.size() > groups) {
    for (const Copy& copy : fiber.groups.front()) {
      if (copy.wanted)
        std::memcpy(copy.to, copy.from, 16);
      else
        std::memset(copy.to, 0, 16);
    }
    fiber.groups.erase(fiber.groups.begin());
  }
}

}  // namespace marea::probe::emulated
