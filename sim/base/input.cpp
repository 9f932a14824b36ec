#include "sim/base/input.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

namespace marea {

namespace {

constexpr std::size_t kChunk = 256 * 1024;

struct Closer {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Closer>;

File open_file(const std::string& file) {
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored)) throw ConfigError({file}, "", "is a folder; a file is due");
  File handle(std::fopen(file.c_str(), "rb"));
  if (!handle) throw ConfigError({file}, "", std::string("cannot be opened: ") + std::strerror(errno));
  std::setvbuf(handle.get(), nullptr, _IONBF, 0);
  return handle;
}

std::size_t read_some(std::FILE* handle, char* out, std::size_t room, const std::string& file) {
  const std::size_t count = std::fread(out, 1, room, handle);
  if (count < room && std::ferror(handle)) throw ConfigError({file}, "", std::string("cannot be read: ") + std::strerror(errno));
  return count;
}

// The bytes of a file, gunzipped when they begin like gzip. Several members in a row are one stream, as gzip defines it.
class ByteSource {
 public:
  explicit ByteSource(const std::string& file) : file_(file), handle_(open_file(file)), in_(kChunk) {
    refill();
    gzip_ = available_ >= 2 && in_[0] == '\x1f' && in_[1] == '\x8b';
    if (gzip_) check(inflateInit2(&stream_, 15 + 16) == Z_OK, "zlib is ready");
  }
  ~ByteSource() {
    if (gzip_) inflateEnd(&stream_);
  }
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  // Up to `room` bytes; 0 only at the end.
  std::size_t read(char* out, std::size_t room) { return gzip_ ? inflate_some(out, room) : copy_some(out, room); }

 private:
  void refill() {
    available_ = read_some(handle_.get(), in_.data(), in_.size(), file_);
    at_ = 0;
  }

  std::size_t copy_some(char* out, std::size_t room) {
    if (available_ == 0) return read_some(handle_.get(), out, room, file_);
    const std::size_t count = std::min(room, available_);
    std::memcpy(out, in_.data() + at_, count);
    at_ += count;
    available_ -= count;
    return count;
  }

  std::size_t inflate_some(char* out, std::size_t room) {
    stream_.next_out = reinterpret_cast<Bytef*>(out);
    stream_.avail_out = static_cast<uInt>(room);
    while (stream_.avail_out == room) {
      if (available_ == 0) refill();
      if (available_ == 0) {
        if (!between_members_) fail("the gzip data end in the middle; the file is cut off");
        return 0;
      }
      if (between_members_ && !begin_member()) continue;
      stream_.next_in = reinterpret_cast<Bytef*>(in_.data() + at_);
      stream_.avail_in = static_cast<uInt>(available_);
      const int result = inflate(&stream_, Z_NO_FLUSH);
      at_ += available_ - stream_.avail_in;
      available_ = stream_.avail_in;
      if (result == Z_STREAM_END) {
        between_members_ = true;
      } else if (result != Z_OK && result != Z_BUF_ERROR) {
        fail(std::string("the gzip data are broken") + (stream_.msg ? std::string(": ") + stream_.msg : std::string()));
      }
    }
    return room - stream_.avail_out;
  }

  // At the start of a member; false when only padding was passed over.
  bool begin_member() {
    if (started_) {
      // Tapes and block devices pad with zeros; anything else after a member is another member.
      while (available_ > 0 && in_[at_] == '\0') ++at_, --available_;
      if (available_ == 0) return false;
      if (in_[at_] != '\x1f') fail("something that is not gzip follows the gzip data");
      check(inflateReset(&stream_) == Z_OK, "zlib starts another member");
    }
    started_ = true;
    between_members_ = false;
    return true;
  }

  [[noreturn]] void fail(const std::string& problem) const { throw ConfigError({file_}, "", problem); }

  std::string file_;
  File handle_;
  std::vector<char> in_;
  std::size_t at_ = 0;
  std::size_t available_ = 0;
  bool gzip_ = false;
  bool started_ = false;
  bool between_members_ = true;
  z_stream stream_{};
};

}  // namespace

std::string read_text(const std::string& file, std::size_t most) {
  const File handle = open_file(file);
  std::string text;
  while (true) {
    const std::size_t before = text.size();
    const std::size_t room = std::min(std::max<std::size_t>(before, 64 * 1024), most + 1 - before);
    text.resize(before + room);
    const std::size_t count = read_some(handle.get(), text.data() + before, room, file);
    text.resize(before + count);
    if (text.size() > most) throw ConfigError({file}, "", "more than " + std::to_string(most) + " bytes; that is the limit");
    if (count == 0) return text;
  }
}

struct LineReader::State {
  State(const std::string& name, std::size_t bound) : file(name), source(name), longest(bound), buffer(kChunk) {}

  std::string file;
  ByteSource source;
  std::size_t longest;
  std::vector<char> buffer;  // [begin, end) holds what has been read and not yet handed out
  std::size_t begin = 0;
  std::size_t end = 0;
  int line = 0;

  // Reads more behind `end`, moving or growing the buffer when it is full. False at the end of the file.
  bool more() {
    if (end == buffer.size() && begin > 0) {
      std::memmove(buffer.data(), buffer.data() + begin, end - begin);
      end -= begin;
      begin = 0;
    }
    if (end == buffer.size()) buffer.resize(buffer.size() * 2);
    const std::size_t count = source.read(buffer.data() + end, buffer.size() - end);
    end += count;
    return count > 0;
  }
};

LineReader::LineReader(const std::string& file, std::size_t longest) : state_(std::make_unique<State>(file, longest)) {}
LineReader::~LineReader() = default;
LineReader::LineReader(LineReader&&) noexcept = default;

bool LineReader::next(std::string_view& line) {
  State& s = *state_;
  ++s.line;
  std::size_t searched = 0;
  std::size_t size = 0;
  bool ended = false;
  while (true) {
    const char* from = s.buffer.data() + s.begin;
    const std::size_t held = s.end - s.begin;
    if (const void* found = std::memchr(from + searched, '\n', held - searched)) {
      size = static_cast<std::size_t>(static_cast<const char*>(found) - from);
      ended = true;
    } else {
      searched = held;
      size = held;
    }
    if (size > s.longest) throw ConfigError(mark(), "", "a line longer than " + std::to_string(s.longest) + " bytes; that is the limit");
    if (ended) break;
    if (!s.more()) break;
  }
  if (!ended && size == 0) return false;
  const char* text = s.buffer.data() + s.begin;
  s.begin += size + (ended ? 1 : 0);
  if (const void* nul = std::memchr(text, '\0', size))
    throw ConfigError(mark(static_cast<int>(static_cast<const char*>(nul) - text) + 1), "", "a NUL byte; this is not a text file");
  line = std::string_view(text, size);
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (s.line == 1 && line.substr(0, 3) == kByteOrderMark) line.remove_prefix(3);
  return true;
}

Mark LineReader::mark(int column) const { return {state_->file, state_->line, column}; }

}  // namespace marea
