// Lines and tables from plain and gzip files, hostile ones included.
#include "sim/base/input.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>
#include <zlib.h>

#include <limits>

#include "tests/base/support.h"

using namespace marea;
using test::message_of;
using test::TemporaryFile;
using test::without_file;

namespace {

std::string gzip(std::string_view text) {
  z_stream stream{};
  check(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK, "deflate");
  std::string out(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  check(deflate(&stream, Z_FINISH) == Z_STREAM_END, "deflate ends");
  out.resize(out.size() - stream.avail_out);
  deflateEnd(&stream);
  return out;
}

std::vector<std::string> lines_of(std::string_view bytes, std::size_t longest = 1 << 20) {
  const TemporaryFile file(bytes);
  LineReader reader(file.path(), longest);
  std::vector<std::string> out;
  std::string_view line;
  while (reader.next(line)) out.emplace_back(line);
  return out;
}

std::string error_in(std::string_view bytes, std::size_t longest = 1 << 20) {
  const TemporaryFile file(bytes);
  return without_file(message_of([&] {
                        LineReader reader(file.path(), longest);
                        std::string_view line;
                        while (reader.next(line)) {
                        }
                      }),
                      file);
}

// The message of reading every field of a table as a number, without the name of the file.
std::string table_error(std::string_view bytes) {
  const TemporaryFile file(bytes);
  return without_file(message_of([&] {
                        CsvReader table(file.path());
                        while (table.next())
                          for (std::size_t i = 0; i < table.columns().size(); ++i) table.number(i, -1e9, 1e9);
                      }),
                      file);
}

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("lines end with LF or CR LF, and the last one need not end") {
  CHECK(lines_of("a\nb\r\nc") == Lines{"a", "b", "c"});
  CHECK(lines_of("a\n\nb\n") == Lines{"a", "", "b"});
  CHECK(lines_of("").empty());
  CHECK(lines_of("\n") == Lines{""});
  CHECK(lines_of("\xef\xbb\xbfid,t\n1,2\n") == Lines{"id,t", "1,2"});
  CHECK(lines_of("a\rb\n") == Lines{"a\rb"});
}

TEST_CASE("lines of any length come through the buffer whole") {
  CHECK(rc::check("lines", [] {
    const auto sizes = *rc::gen::resize(8, rc::gen::container<std::vector<std::size_t>>(rc::gen::element<std::size_t>(
                                               0, 1, 100, 131'071, 131'072, 262'143, 262'144, 262'145, 300'000)));
    Lines wanted;
    std::string bytes;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      wanted.emplace_back(sizes[i], static_cast<char>('a' + i % 26));
      bytes += wanted.back() + "\n";
    }
    RC_ASSERT(lines_of(bytes) == wanted);
    RC_ASSERT(lines_of(gzip(bytes)) == wanted);
  }));
}

TEST_CASE("gzip is known by its content, and members in a row are one text") {
  CHECK(lines_of(gzip("a\nb\n")) == Lines{"a", "b"});
  CHECK(lines_of(gzip("a\nb") + gzip("c\nd\n")) == Lines{"a", "bc", "d"});
  CHECK(lines_of(gzip("a\n") + std::string(512, '\0')) == Lines{"a"});
  CHECK(lines_of(gzip("")).empty());
  std::string many;
  for (int i = 0; i < 300; ++i) many += gzip(std::string(1000, 'x') + "\n");
  CHECK(lines_of(many).size() == 300);
}

TEST_CASE("broken gzip is an error at every cut") {
  const std::string whole = gzip("some text\nthat goes on\nfor a while\n");
  for (std::size_t size = 2; size < whole.size(); ++size) {
    CAPTURE(size);
    CHECK(error_in(whole.substr(0, size)) == ": the gzip data end in the middle; the file is cut off");
  }
  std::string flipped = whole;
  flipped[whole.size() - 6] = static_cast<char>(flipped[whole.size() - 6] ^ 1);  // in the checksum
  CHECK(error_in(flipped).find("the gzip data are broken") != std::string::npos);
  CHECK(error_in(whole + "tail") == ": something that is not gzip follows the gzip data");
}

TEST_CASE("NUL bytes and endless lines name their line") {
  CHECK(error_in(std::string_view("ok\na\0b\n", 7)) == ":2:2: a NUL byte; this is not a text file");
  CHECK(error_in("ok\n" + std::string(1001, 'x'), 1000) == ":2: a line longer than 1000 bytes; that is the limit");
  CHECK(error_in("ok\n" + std::string(1000, 'x'), 1000) == "(no error)");
  CHECK(error_in(gzip(std::string(5'000'000, 'x')), 1000) == ":1: a line longer than 1000 bytes; that is the limit");
}

TEST_CASE("a missing file and a folder are clear errors") {
  CHECK(message_of([] { LineReader("/no/such/file"); }) == "/no/such/file: cannot be opened: No such file or directory");
  CHECK(message_of([] { LineReader("/tmp"); }) == "/tmp: is a folder; a file is due");
  CHECK(message_of([] { CsvReader("/tmp"); }) == "/tmp: is a folder; a file is due");
}

TEST_CASE("a table finds its columns by name") {
  const TemporaryFile file("id,arrived,tokens\n1,0.5,100\n\n2,\"1.5\",-7\n");
  CsvReader table(file.path());
  const std::size_t id = table.column("id");
  const std::size_t tokens = table.column("tokens");
  REQUIRE(table.next());
  CHECK(table.integer(id, 0, 10) == 1);
  CHECK(table.number(1, 0, 10) == 0.5);
  CHECK(table.field(tokens) == "100");
  REQUIRE(table.next());
  CHECK(table.number(1, 0, 10) == 1.5);
  CHECK(table.integer(tokens, -10, 10) == -7);
  CHECK_FALSE(table.next());
  CHECK(table.has("arrived"));
  CHECK_FALSE(table.has("token"));
  CHECK(without_file(message_of([&] { table.column("token"); }), file) == ":1: there is no column token; did you mean tokens?");
  CHECK(without_file(message_of([&] { table.column("size"); }), file) == ":1: there is no column size; there are id, arrived, tokens");
}

TEST_CASE("quoted fields hold commas, quotes and line ends") {
  const TemporaryFile file("a,b\n\"x,y\",\"say \"\"hi\"\"\"\n\"two\nlines\",\"\"\n,\"z\"\n");
  CsvReader table(file.path());
  REQUIRE(table.next());
  CHECK(table.field(0) == "x,y");
  CHECK(table.field(1) == "say \"hi\"");
  CHECK(table.mark(1).column == 7);
  REQUIRE(table.next());
  CHECK(table.field(0) == "two\nlines");
  CHECK(table.field(1).empty());
  CHECK(table.mark(1).line == 3);
  REQUIRE(table.next());
  CHECK(table.field(0).empty());
  CHECK(table.field(1) == "z");
  CHECK(table.mark(1).line == 5);
  CHECK_FALSE(table.next());
}

TEST_CASE("a wrong field names its line, its place and its column") {
  CHECK(table_error("a,b\n1,x\n") == ":2:3: b: x is not a number");
  CHECK(table_error("a,b\n1,\n") == ":2:3: b: an empty field is not a number");
  CHECK(table_error("a,b\n1,nan\n") == ":2:3: b: nan is not a number");
  CHECK(table_error("a,b\n1,inf\n") == ":2:3: b: inf is out of range; give -1e+09 to 1e+09");
  CHECK(table_error("a,b\n1,1e999\n") == ":2:3: b: 1e999 is out of range; give -1e+09 to 1e+09");
  CHECK(table_error("a,b\n1,5x\n") == ":2:3: b: 5x is not a number");
  CHECK(table_error("a,b\n1, 5\n") == ":2:3: b:  5 is not a number");
  CHECK(table_error("a,b\n\"1\",\"x\"\n") == ":2:5: b: x is not a number");
  CHECK(table_error("a,b\n1\n") == ":2:2: this row has 1 fields, but there are 2 columns");
  CHECK(table_error("a,b\n1,2,3\n") == ":2:6: this row has 3 fields, but there are 2 columns");
  CHECK(table_error("") == ": is empty; a table starts with a row of column names");
  CHECK(table_error("a,a\n") == ":1:3: a: this column is named twice");
  CHECK(table_error("a,,b\n") == ":1:3: a column without a name");
  CHECK(table_error("a,b\n\"1,2\n") == ":2:1: a quoted field that is never closed");
  CHECK(table_error("a,b\n\"1\"2,3\n") == ":2:4: text after a closing quote; a comma is due");
  CHECK(table_error("a,b\n1\"2,3\n") == ":2:1: a quote inside a field; quote the whole field and double the quotes in it");
}

TEST_CASE("integers of a table stay within 64 bits and within their bounds") {
  const TemporaryFile file("a\n9223372036854775807\n9223372036854775808\n1.0\n7\n\"\"\n");
  CsvReader table(file.path());
  const auto read = [&] {
    table.next();
    return table.integer(0, 0, std::numeric_limits<std::int64_t>::max());
  };
  CHECK(read() == std::numeric_limits<std::int64_t>::max());
  CHECK(without_file(message_of(read), file) == ":3:1: a: 9223372036854775808 is out of range; give 0 to 9223372036854775807");
  CHECK(without_file(message_of(read), file) == ":4:1: a: 1.0 is not a whole number");
  CHECK(read() == 7);
  CHECK(without_file(message_of(read), file) == ":6:1: a: an empty field is not a whole number");
}

TEST_CASE("any table survives quoting and reading back") {
  CHECK(rc::check("tables", [] {
    const auto columns = *rc::gen::inRange<std::size_t>(1, 5);
    const auto count = *rc::gen::inRange<std::size_t>(0, 6);
    std::vector<Lines> rows;
    std::string bytes;
    for (std::size_t c = 0; c < columns; ++c) bytes += (c ? ",c" : "c") + std::to_string(c);
    bytes += "\n";
    for (std::size_t r = 0; r < count; ++r) {
      Lines& row = rows.emplace_back();
      for (std::size_t c = 0; c < columns; ++c) {
        row.push_back(*rc::gen::container<std::string>(rc::gen::element('a', ',', '"', '\n', ' ', '1')));
        const bool bare = row.back().find_first_of(",\"\n") == std::string::npos && !(columns == 1 && row.back().empty());
        std::string quoted = "\"";
        for (const char ch : row.back()) quoted.append(ch == '"' ? 2 : 1, ch);
        bytes.append(c ? "," : "").append(bare && *rc::gen::arbitrary<bool>() ? row.back() : quoted + "\"");
      }
      bytes += *rc::gen::element<std::string>("\n", "\r\n");
    }
    const TemporaryFile file(bytes);
    CsvReader table(file.path());
    for (const Lines& row : rows) {
      RC_ASSERT(table.next());
      for (std::size_t c = 0; c < columns; ++c) RC_ASSERT(table.field(c) == row[c]);
    }
    RC_ASSERT(!table.next());
  }));
}
