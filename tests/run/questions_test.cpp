// The queries that docs/store.md shows work as they stand there.
#include <doctest/doctest.h>

#include <fstream>

#include "tests/run/support.h"

using namespace marea;
using namespace marea::run;
using namespace marea::test;

TEST_CASE("every query of docs/store.md runs, and finds something where it should") {
  const Folder folder;
  const std::string file = folder.file("s.sqlite");
  {
    Store store(file, Store::Mode::write);
    for (const std::uint64_t seed : {1u, 2u}) {
      RowSpool rows(folder.path(), Detail::steps, {"ducks"}, {"main/0", "main/1"});
      cluster::SessionEnded session;
      session.traffic = ClassId(0);
      session.started = Time(Duration(5));
      session.at = Time(Duration(1'000'000'000));
      rows.session(session);
      add_calls(rows, 20);
      store.put(record(seed, Detail::steps), results(), memory(), &rows, text);
    }
  }
  Database database(file, Database::Access::read, std::chrono::seconds(1));
  std::ifstream page(MAREA_SOURCE_DIR "/docs/store.md");
  REQUIRE(page);
  int queries = 0;
  bool inside = false;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("```")) {
      inside = line == "```sql";
    } else if (inside) {
      ++queries;
      Statement statement(database, line);
      CHECK_MESSAGE(statement.step(), line);
      CHECK_MESSAGE(!statement.is_null(0), line);
    }
  }
  CHECK(queries == 10);
}
