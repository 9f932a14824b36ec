// The lists of cases for GPUs, and the names that GPUs are filed under. Neither needs one.
#include "kernels/cuda/cases.h"

#include <doctest/doctest.h>

#include <set>

using namespace marea::probe;
using namespace marea::probe::cuda;

namespace {

const Extent kBlackwell{{"bf16", "fp8", "nvfp4", "fp16", "int8"}, std::int64_t{180} << 30, 8};
const Extent kSmall{{"bf16", "fp8", "fp16", "int8"}, std::int64_t{24} << 30, 1};

}  // namespace

TEST_CASE("no case is listed twice, and every operation of a GPU is listed and checked") {
  for (const std::vector<Case>& cases :
       {cuda_cases(kBlackwell), cuda_cases(kSmall), quick_cuda_cases(kSmall), cuda_check_cases(kBlackwell)}) {
    std::set<std::string> seen;
    for (const Case& one : cases) {
      CAPTURE(describe(one));
      CHECK(seen.insert(describe(one)).second);
    }
  }
  for (const std::vector<Case>& cases : {cuda_cases(kBlackwell), cuda_check_cases(kBlackwell)}) {
    std::set<Operation> seen;
    for (const Case& one : cases) seen.insert(one.operation);
    for (const Operation operation : all_operations())
      if (operation != Operation::file_read) CHECK(seen.count(operation) == 1);  // the host's
  }
}

TEST_CASE("a fifth of the list has seen every operation, and each format of dense layers") {
  std::vector<Case> cases = cuda_cases(kBlackwell);
  cases.resize(cases.size() / 5);
  std::set<Operation> operations;
  std::set<std::string> formats;
  for (const Case& one : cases) {
    operations.insert(one.operation);
    if (one.operation == Operation::gemm) formats.insert(one.format);
  }
  CHECK(operations.size() == all_operations().size() - 1);
  CHECK(formats.size() == 5);
}

TEST_CASE("caches fit the device, and one device has nobody to reduce with") {
  for (const Case& one : cuda_cases(kSmall)) {
    CHECK(one.operation != Operation::all_reduce);
    if (one.operation != Operation::decode_attention) continue;
    const double bytes = 4.0 * static_cast<double>(*one.batch * (*one.context + 1) * *one.kv_heads * *one.head_dim);
    CHECK(bytes < 0.5 * static_cast<double>(kSmall.memory));
  }
}

TEST_CASE("devices are filed under the names of their files") {
  CHECK(device_file_of("NVIDIA H100 80GB HBM3") == "h100-sxm");
  CHECK(device_file_of("NVIDIA H200") == "h200-sxm");
  CHECK(device_file_of("NVIDIA GB200") == "gb200");
  CHECK(device_file_of("NVIDIA B200") == "b200-sxm");
  CHECK(device_file_of("NVIDIA A100-SXM4-80GB") == "a100-80");
  CHECK(device_file_of("NVIDIA GeForce RTX 4090") == "rtx-4090");
  CHECK(device_file_of("NVIDIA RTX A6000 (test)") == "rtx-a6000-test");
}
