// marea-probe: measures what tokens cost on this machine and writes a kernel-timing table. Results go to files, words to standard error.
// Exit status: 0 done; 1 a kernel's result is wrong, or an internal error; 2 usage, or no such device; 4 a file could not be read or
// written.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <random>

#include "kernels/campaign.h"
#include "kernels/options.h"
#include "kernels/version.h"

namespace marea::probe {

namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

nlohmann::json notes_of(const std::vector<Note>& notes) {
  nlohmann::json out = nlohmann::json::array();
  for (const Note& note : notes) out.push_back({{"case", describe(note.one)}, {"why", note.why}});
  return out;
}

// What stands in FILE.json: written before the first row, and again with the outcome.
void write_facts(const Options& options, const Backend& backend, const Plan& plan, const Outcome* outcome) {
  nlohmann::json facts = {{"program", fmt::format("marea-probe {}", kVersion)},
                          {"backend", options.backend},
                          {"device", plan.device},
                          {"seed", plan.seed},
                          {"budget_seconds", plan.budget},
                          {"cases", plan.cases.size()},
                          {"finished", outcome != nullptr},
                          {"facts", backend.facts()}};
  if (outcome != nullptr) {
    facts["measured"] = outcome->measured.size();
    facts["held_before"] = outcome->held;
    facts["unreached"] = outcome->unreached;
    facts["unsupported"] = notes_of(outcome->unsupported);
    facts["wrong"] = notes_of(outcome->wrong);
    facts["throttled"] = notes_of(outcome->throttled);
  }
  const std::string path = options.out + ".json";
  std::ofstream file(path);
  file << facts.dump(2) << '\n';
  if (!file.flush()) throw std::runtime_error(path + ": cannot be written");
}

std::string folder_of(const Options& options) {
  if (!options.folder.empty()) return options.folder;
  const std::filesystem::path folder = std::filesystem::path(options.out).parent_path();
  return folder.empty() ? "." : folder.string();
}

Plan plan_of(const Options& options, const Backend& backend) {
  Plan plan;
  const std::vector<Case> all = options.what == Options::Do::check ? backend.check_cases() : backend.cases(options.quick);
  std::copy_if(all.begin(), all.end(), std::back_inserter(plan.cases), [&](const Case& one) { return wanted(options, one); });
  if (plan.cases.empty()) throw UsageError("--operations and --formats leave no case to this backend");
  plan.device = options.device.empty() ? backend.device() : options.device;
  plan.seed = options.seed.value_or(std::uint64_t{std::random_device()()});
  plan.budget = options.budget;
  return plan;
}

int run(const Options& options) {
  if (options.what == Options::Do::help) {
    std::cout << help_text();
    return 0;
  }
  const std::unique_ptr<Backend> backend = options.backend == "cuda" ? make_cuda_backend() : make_host_backend(folder_of(options));
  const Plan plan = plan_of(options, *backend);
  if (options.what == Options::Do::list) {
    for (const Case& one : plan.cases) fmt::print("{}\n", describe(one));
    return 0;
  }
  const Say say = [&](const std::string& line) {
    if (!options.quiet) fmt::print(stderr, "{}\n", line);
  };
  say(fmt::format("{}: {} cases, seed {}", plan.device, plan.cases.size(), plan.seed));
  std::unique_ptr<Table> table;
  if (options.what == Options::Do::measure) {
    table = std::make_unique<Table>(options.out, options.resume);
    write_facts(options, *backend, plan, nullptr);
  }
  const Outcome outcome = perform(*backend, plan, table.get(), now, say);
  if (table) write_facts(options, *backend, plan, &outcome);
  if (table)
    fmt::print(stderr, "{} measured, {} were there, {} unsupported, {} wrong, {} throttled, {} not reached in time\n",
               outcome.measured.size(), outcome.held, outcome.unsupported.size(), outcome.wrong.size(), outcome.throttled.size(),
               outcome.unreached);
  else
    fmt::print(stderr, "{} checked, {} unsupported, {} wrong, {} not reached in time\n",
               plan.cases.size() - outcome.unsupported.size() - static_cast<std::size_t>(outcome.unreached), outcome.unsupported.size(),
               outcome.wrong.size(), outcome.unreached);
  for (const Note& note : outcome.wrong) fmt::print(stderr, "wrong: {}: {}\n", describe(note.one), note.why);
  return outcome.wrong.empty() ? 0 : 1;
}

}  // namespace

}  // namespace marea::probe

int main(int count, char** arguments) {
  using namespace marea::probe;
  try {
    return run(read_options(count, arguments));
  } catch (const UsageError& error) {
    fmt::print(stderr, "marea-probe: {}\nTry 'marea-probe --help'.\n", error.what());
    return 2;
  } catch (const Unsupported& error) {
    fmt::print(stderr, "marea-probe: {}\n", error.what());
    return 2;
  } catch (const std::logic_error& error) {
    fmt::print(stderr, "marea-probe: internal error, please report: {}\n", error.what());
    return 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "marea-probe: {}\n", error.what());
    return 4;
  }
}
