// Reads the header line of a recorded schedule.
#include "tests/serving/workload.h"

namespace marea::test {

Workload read_workload(const nlohmann::json& header, bool async) {
  Workload workload;
  workload.name = header.at("workload");
  const nlohmann::json& config = header.at("config");
  serving::VllmV1Params& params = workload.params;
  params.block = config.at("block_size");
  params.blocks = config.at("num_gpu_blocks");
  params.batch_tokens = config.at("max_num_batched_tokens");
  params.sequences = config.at("max_num_seqs");
  params.max_length = config.at("max_model_len");
  params.long_prefill_threshold = config.at("long_prefill_token_threshold");
  params.chunked_prefill = config.at("enable_chunked_prefill");
  params.prefix_caching = config.at("enable_prefix_caching");
  params.reserve_full_prompt = config.at("scheduler_reserve_full_isl");
  params.watermark = config.at("watermark");
  params.free_order = config.at("free_order") == "append" ? serving::FreeOrder::append : serving::FreeOrder::unhashed_first;
  params.keyed_order = config.at("policy") == "priority";
  params.async = async;
  for (const nlohmann::json& item : header.at("requests")) {
    WorkloadRequest request;
    request.id = item.at("id");
    if (!item.at("arrive").is_null()) request.arrive = item.at("arrive").get<std::int64_t>();
    if (!item.at("after").is_null()) {
      request.after = item.at("after").at(0);
      request.delay = item.at("after").at(1);
    }
    request.fraction = item.at("frac");
    for (const nlohmann::json& piece : item.at("prompt")) {
      request.prompt += piece.at(1).get<std::int64_t>();
      kv::append(request.content, {piece.at(0), 0, piece.at(1)});
    }
    request.output = item.at("max_tokens");
    kv::append(request.content, {item.at("ospan"), 0, request.output});
    request.priority = item.at("priority");
    request.session = static_cast<std::uint32_t>(workload.requests.size());
    workload.requests.push_back(std::move(request));
  }
  return workload;
}

}  // namespace marea::test
