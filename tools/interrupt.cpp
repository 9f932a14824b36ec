// The handler sets a flag and nothing else.
#include "tools/interrupt.h"

#include <csignal>

namespace marea::cli {

namespace {

volatile std::sig_atomic_t stop_asked = 0;

extern "C" void ask_to_stop(int) { stop_asked = 1; }

}  // namespace

void watch_signals() {
  struct sigaction stop {};
  stop.sa_handler = ask_to_stop;
  stop.sa_flags = static_cast<int>(SA_RESETHAND);  // the second one has its usual effect
  sigaction(SIGINT, &stop, nullptr);
  sigaction(SIGTERM, &stop, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

bool interrupted() { return stop_asked != 0; }

}  // namespace marea::cli
