// Ctrl-C, as a flag: the run stops at its next look, what is finished is stored, and the exit status is 130. A second Ctrl-C ends at once.
#pragma once

namespace marea::cli {

// Installs the handlers; also makes closed pipes and file size limits come back as errors instead of ending the process.
void watch_signals();
bool interrupted();

// Exit status of a command that was interrupted.
inline constexpr int kInterrupted = 130;

}  // namespace marea::cli
