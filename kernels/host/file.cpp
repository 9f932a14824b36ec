// Reading a file past the page cache: one reader for the latency of a block, eight for the rate of a large transfer.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <numeric>
#include <random>
#include <stdexcept>
#include <thread>

#include "kernels/host/kernel.h"
#include "kernels/reference.h"

namespace marea::probe::host {

namespace {

constexpr std::int64_t kReaders = 8;
constexpr std::size_t kPage = 4096;  // direct reads want buffers, places and sizes in multiples of it

[[noreturn]] void fail(const std::string& path, const char* what) {
  throw std::runtime_error(fmt::format("{}: {}: {}", path, what, std::strerror(errno)));
}

// A file of our own that has no name any more once it is open.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& folder) {
    path_ = folder + "/marea-probe-XXXXXX";
    plain_ = ::mkstemp(path_.data());
    if (plain_ < 0) fail(path_, "cannot be made");
    direct_ = ::open(path_.c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC);
    ::unlink(path_.c_str());
  }
  ~TemporaryFile() {
    if (direct_ >= 0) ::close(direct_);
    ::close(plain_);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  bool direct() const { return direct_ >= 0; }

  void write(std::span<const float> values) {
    std::span<const std::byte> left = std::as_bytes(values);
    while (!left.empty()) {
      const ssize_t wrote = ::write(plain_, left.data(), left.size());
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote <= 0) fail(path_, "cannot be written");
      left = left.subspan(static_cast<std::size_t>(wrote));
    }
    if (::fsync(plain_) != 0) fail(path_, "cannot be written");
  }

  // Nothing of it stays in memory, as far as the system lets us ask for it.
  void forget() const {
    if (!direct()) ::posix_fadvise(plain_, 0, 0, POSIX_FADV_DONTNEED);
  }

  void read(std::int64_t place, std::span<std::byte> out) const {
    while (!out.empty()) {
      const ssize_t got = ::pread(direct() ? direct_ : plain_, out.data(), out.size(), place);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) fail(path_, "cannot be read");
      out = out.subspan(static_cast<std::size_t>(got));
      place += got;
    }
  }

 private:
  std::string path_;
  int plain_ = -1;
  int direct_ = -1;
};

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};

// Blocks in random order. One block a sample when `bytes` is a block: each sample reads another place.
class FileRead final : public HostKernel {
 public:
  FileRead(const Case& one, std::uint64_t seed, const std::string& folder)
      : block_(one.block.value()), bytes_(one.bytes.value()), seed_(seed), file_(folder) {
    const std::int64_t size = std::max<std::int64_t>(bytes_, std::int64_t{64} << 20);
    std::vector<float> piece(std::size_t{1} << 18);
    for (std::int64_t at = 0; at < size; at += static_cast<std::int64_t>(piece.size() * sizeof(float))) {
      draw_row(seed_, Array::value, static_cast<std::uint64_t>(at) / sizeof(float), piece);
      file_.write(piece);
    }
    places_.resize(static_cast<std::size_t>(size / block_));
    std::iota(places_.begin(), places_.end(), 0);
    std::shuffle(places_.begin(), places_.end(), std::mt19937_64(seed));
    const std::size_t room = (static_cast<std::size_t>(bytes_) + kPage - 1) / kPage * kPage;
    buffer_.reset(static_cast<float*>(std::aligned_alloc(kPage, room)));
    if (buffer_ == nullptr) throw std::bad_alloc();
    std::memset(buffer_.get(), 0, room);  // the pages are there before the clock starts
  }

  void poison() override { std::fill(buffer_.get(), buffer_.get() + bytes_ / 4, std::numeric_limits<float>::quiet_NaN()); }

  void run() override {
    const std::int64_t blocks = bytes_ / block_;
    const std::int64_t first = next_;
    next_ = (next_ + blocks) % static_cast<std::int64_t>(places_.size());
    first_read_ = first;
    if (blocks < kReaders) {
      for (std::int64_t i = 0; i < blocks; ++i) read(first, i);
      return;
    }
    std::atomic<std::int64_t> taken = 0;
    std::vector<std::exception_ptr> failures(static_cast<std::size_t>(kReaders));
    std::vector<std::thread> readers;
    for (std::size_t reader = 0; reader < failures.size(); ++reader)
      readers.emplace_back([&, reader] {
        try {
          for (std::int64_t i = taken++; i < blocks; i = taken++) read(first, i);
        } catch (...) {
          failures[reader] = std::current_exception();
        }
      });
    for (std::thread& reader : readers) reader.join();
    for (const std::exception_ptr& failure : failures)
      if (failure) std::rethrow_exception(failure);
  }

  double error() override {
    RelativeNorm norm;
    for (const std::int64_t i : some_of(bytes_ / 4, 4096, seed_)) {
      const std::int64_t value = place(first_read_, i * 4 / block_) / 4 + i % (block_ / 4);
      norm.add(buffer_.get()[i], draw_four(seed_, Array::value, static_cast<std::uint64_t>(value) / 4).values[value % 4]);
    }
    return norm.value();
  }

  double tolerance() const override { return 0; }

  Sample sample() override {
    file_.forget();
    const auto begin = std::chrono::steady_clock::now();
    run();
    return {std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(), false};
  }

 protected:
  std::vector<std::span<const std::byte>> operands() const override { return {}; }

 private:
  std::int64_t place(std::int64_t first, std::int64_t i) const {
    return places_[static_cast<std::size_t>((first + i) % static_cast<std::int64_t>(places_.size()))] * block_;
  }
  void read(std::int64_t first, std::int64_t i) const {
    file_.read(place(first, i), std::as_writable_bytes(std::span(buffer_.get() + i * block_ / 4, static_cast<std::size_t>(block_ / 4))));
  }

  std::int64_t block_, bytes_;
  std::uint64_t seed_;
  TemporaryFile file_;
  std::vector<std::int64_t> places_;  // of the file, in blocks
  std::int64_t next_ = 0, first_read_ = 0;
  std::unique_ptr<float, Free> buffer_;
};

}  // namespace

std::string file_read_way(const std::string& folder) { return TemporaryFile(folder).direct() ? "O_DIRECT" : "posix_fadvise"; }

std::unique_ptr<Kernel> make_file_read(const Case& one, std::uint64_t seed, const std::string& folder) {
  if (one.block.value() % static_cast<std::int64_t>(kPage) != 0) throw Unsupported("blocks that are no multiple of 4096 bytes");
  const std::filesystem::space_info space = std::filesystem::space(folder);
  if (space.available < 2 * static_cast<std::uintmax_t>(one.bytes.value()) + (std::uintmax_t{128} << 20))
    throw Unsupported("too little room for the file in " + folder);
  return std::make_unique<FileRead>(one, seed, folder);
}

}  // namespace marea::probe::host
