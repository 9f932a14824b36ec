// The commands of marea, in the order in which help lists them. To add one: its file, its row in commands.cpp.
#pragma once

#include <vector>

#include "tools/options.h"

namespace marea::cli {

int calibrate_command(const Options& options);
int run_command(const Options& options);
int check_command(const Options& options);
int list_command(const Options& options);
int runs_command(const Options& options);
int show_command(const Options& options);
int rerun_command(const Options& options);
int export_command(const Options& options);

const std::vector<Command>& commands();

}  // namespace marea::cli
