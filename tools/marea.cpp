// marea: finds the command, runs it, and turns whatever goes wrong into one clear message and the right exit status.
#include <fmt/format.h>

#include <clocale>
#include <exception>
#include <string>
#include <vector>

#include "sim/base/error.h"
#include "sim/base/tree.h"
#include "tools/commands.h"
#include "tools/interrupt.h"
#include "tools/memory_table.h"
#include "tools/options.h"
#include "tools/terminal.h"
#include "tools/version.h"

namespace marea::cli {

namespace {

constexpr int kDone = 0;
constexpr int kInternal = 1;
constexpr int kUsage = 2;
constexpr int kNo = 3;
constexpr int kStorage = 4;

std::string overview() {
  std::string text =
      "marea simulates LLM inference clusters: traffic of agents in, where time and\n"
      "memory go out.\n\nusage: marea COMMAND [options]\n\n";
  for (const Command& command : commands())
    text += fmt::format("  {:<16}{}\n", fmt::format("{} {}", command.name, command.words), command.summary);
  text +=
      "\n  marea COMMAND --help    options and examples of one command\n"
      "  marea --version\n\nstart here: marea run first-run\n";
  return text;
}

const Command& find(const std::string& name) {
  std::vector<std::string> names;
  for (const Command& command : commands()) {
    if (command.name == name) return command;
    names.emplace_back(command.name);
  }
  const std::string near = nearest(name, names);
  throw UsageError(fmt::format("there is no command {}{}", name, near.empty() ? "" : "; did you mean " + near + "?"));
}

int dispatch(const std::vector<std::string>& arguments) {
  if (arguments.empty()) {
    note(overview());
    return kUsage;
  }
  const std::string& first = arguments.front();
  if (first == "--version" || first == "version") {
    print(fmt::format("marea {} ({})\n", kVersion, kCommit));
    return kDone;
  }
  if (first == "--help" || first == "-h" || first == "help") {
    print(arguments.size() > 1 && first == "help" ? help(find(arguments[1])) : overview());
    return kDone;
  }
  const Command& command = find(first);
  const Options options = read_options(command, {arguments.begin() + 1, arguments.end()});
  if (options.help) {
    print(help(command));
    return kDone;
  }
  return command.run(options);
}

int guarded(const std::vector<std::string>& arguments) {
  const auto complain = [](std::string_view message) { note(fmt::format("marea: {}", message)); };
  try {
    const int status = dispatch(arguments);
    flush_output();
    return status;
  } catch (const NobodyReads&) {
    return kDone;
  } catch (const UsageError& error) {
    complain(error.what());
    const bool known = !arguments.empty() && !arguments.front().empty() && arguments.front().front() != '-';
    note(known && std::string_view(error.what()).find("there is no command") != 0 ? fmt::format("see: marea {} --help", arguments.front())
                                                                                  : "see: marea --help");
    return kUsage;
  } catch (const ConfigError& error) {
    complain(error.what());
    return kUsage;
  } catch (const run::DoesNotFit& error) {
    note(memory_table(error.account, Style::plain()));
    complain(error.what());
    return kNo;
  } catch (const StorageError& error) {
    complain(error.what());
    return kStorage;
  } catch (const std::bad_alloc&) {
    complain("out of memory");
    return kInternal;
  } catch (const std::exception& error) {
    complain(fmt::format("internal error: {}\nThis is a fault of marea {} ({}); please report it with the scenario and the command line.",
                         error.what(), kVersion, kCommit));
    return kInternal;
  }
}

}  // namespace

}  // namespace marea::cli

int main(int argc, char** argv) {
  std::setlocale(LC_CTYPE, "");
  marea::cli::watch_signals();
  return marea::cli::guarded({argv + 1, argv + argc});
}
