// The table of timings: columns, quoting, and going on where another run ended.
#include "kernels/table.h"

#include <doctest/doctest.h>

#include <sys/stat.h>

#include <fstream>

#include "tests/kernels/support.h"

using namespace marea::probe;
using marea::probe::test::cells_of;
using marea::probe::test::contents;
using marea::probe::test::Folder;
using marea::probe::test::lines_of;

namespace {

Case layer(std::int64_t m) {
  Case one{.operation = Operation::gemm, .format = "bf16"};
  one.m = m, one.n = 4096, one.k = 1024;
  return one;
}

const Measurement kTime{.median = 12.34567e-6, .noise = 0.01234, .samples = 9};

}  // namespace

TEST_CASE("a row has its values under the columns that marea calibrate reads, and nothing elsewhere") {
  const Folder folder("table");
  {
    Table table(folder.file("t.csv"), false);
    table.write("h100-sxm", "marea-probe 0.1", layer(16), kTime);
  }
  const std::vector<std::string> lines = lines_of(contents(folder.file("t.csv")));
  REQUIRE(lines.size() == 2);
  const std::vector<std::string> names = cells_of(lines[0]);
  const std::vector<std::string> cells = cells_of(lines[1]);
  REQUIRE(names.size() == cells.size());
  std::map<std::string, std::string> filled;
  for (std::size_t i = 0; i < names.size(); ++i)
    if (!cells[i].empty()) filled[names[i]] = cells[i];
  CHECK(filled == std::map<std::string, std::string>{{"device", "h100-sxm"},
                                                     {"operation", "gemm"},
                                                     {"source", "marea-probe 0.1"},
                                                     {"format", "bf16"},
                                                     {"m", "16"},
                                                     {"n", "4096"},
                                                     {"k", "1024"},
                                                     {"microseconds", "12.3457"},
                                                     {"noise", "0.0123"}});
}

TEST_CASE("every column is one of the agreed names") {
  const std::vector<std::string> agreed = {"device", "operation", "source",       "format",       "kv",        "m",        "n",
                                           "k",      "batch",     "tokens",       "context",      "heads",     "kv_heads", "head_dim",
                                           "window", "latent",    "rope_dim",     "nope_dim",     "value_dim", "hidden",   "experts",
                                           "chosen", "width",     "expert_ranks", "tensor_ranks", "skew",      "ranks",    "bytes",
                                           "block",  "graph",     "microseconds", "noise"};
  for (const std::string& name : cells_of(Table::header())) {
    CAPTURE(name);
    CHECK(std::find(agreed.begin(), agreed.end(), name) != agreed.end());
  }
}

TEST_CASE("cells with commas and quotes are quoted as RFC 4180 says") {
  const std::string key = Table::key("a,b", "say \"so\"", layer(1));
  CHECK(key.rfind("\"a,b\",gemm,\"say \"\"so\"\"\",bf16,,1,4096,1024,", 0) == 0);
}

TEST_CASE("with resume the rows stay and are known, without it they are gone") {
  const Folder folder("resume");
  const std::string path = folder.file("t.csv");
  Table(path, false).write("d,1", "s", layer(1), kTime);
  {
    Table again(path, true);
    CHECK(again.has("d,1", "s", layer(1)));
    CHECK_FALSE(again.has("d,1", "s", layer(2)));
    CHECK_FALSE(again.has("d", "s", layer(1)));
    again.write("d,1", "s", layer(2), kTime);
    CHECK(again.has("d,1", "s", layer(2)));
  }
  CHECK(lines_of(contents(path)).size() == 3);
  CHECK_FALSE(Table(path, false).has("d,1", "s", layer(1)));
  CHECK(contents(path) == Table::header() + "\n");
}

TEST_CASE("half a row, left by a run that was killed, is cut off") {
  const Folder folder("half");
  const std::string path = folder.file("t.csv");
  Table(path, false).write("d", "s", layer(1), kTime);
  std::ofstream(path, std::ios::app) << "d,gemm,s,bf16,,2,40";
  Table again(path, true);
  again.write("d", "s", layer(2), kTime);
  const std::vector<std::string> lines = lines_of(contents(path));
  REQUIRE(lines.size() == 3);
  CHECK(lines[2] == Table::key("d", "s", layer(2)) + "12.3457,0.0123");
  std::ofstream(path, std::ios::trunc) << "device,oper";  // killed even earlier
  Table(path, true).write("d", "s", layer(1), kTime);
  CHECK(lines_of(contents(path)).size() == 2);
}

TEST_CASE("another file is not added to") {
  const Folder folder("other");
  std::ofstream(folder.file("notes.csv")) << "a,b\n1,2\n";
  CHECK_THROWS_WITH_AS(Table(folder.file("notes.csv"), true),
                       (folder.file("notes.csv") + ": is not a table of this program, nothing can be added to it").c_str(),
                       std::runtime_error);
  CHECK(contents(folder.file("notes.csv")) == "a,b\n1,2\n");
  CHECK_THROWS_AS(Table(folder.file("no/such/folder.csv"), false), std::runtime_error);
}

TEST_CASE("the bytes of the small kernels are what they read and write") {
  CHECK(add_norm_case("bf16", 3, 100).bytes == 3 * 100 * 4 * 2);         // two in, two out
  CHECK(rotary_case("fp32", 2, 8, 2, 64).bytes == 2 * 2 * 12 * 64 * 4);  // 12 heads in and out
  CHECK(activation_case("bf16", 5, 10).bytes == 5 * 3 * 10 * 2);         // gate and up in, one out
}
