// Prefix affinity from the router's own record: it remembers where it sent each prefix, in chunks, and cannot know what a replica has
// evicted since.
#pragma once

#include <list>
#include <unordered_map>

#include "sim/base/section.h"
#include "sim/cluster/router.h"
#include "sim/cluster/routers/balance.h"

namespace marea::cluster::routers {

class PrefixAffinity final : public Router {
 public:
  static constexpr std::string_view name = "prefix-affinity";
  static constexpr std::string_view summary =
      "the replica to which the longest prefix of the prompt was last sent (own record), unless loads are out of balance";
  struct Params {
    Balance balance;
    std::int64_t chunk = 1024;          // tokens compared at a time
    std::int64_t remembered = 1 << 20;  // chunks, the least recently sent forgotten first

    static Params read(Section& section) {
      Params params;
      params.balance = Balance::read(section);
      if (auto value = section.optional("chunk")) params.chunk = value->tokens(Tokens{1}).value;
      if (auto value = section.optional("remembered_chunks")) params.remembered = value->integer(1, 1'000'000'000);
      return params;
    }
  };
  PrefixAffinity(const Params& params, PrefixIndex&) : params_(params) {}

  std::size_t route(const RoutedCall& call, std::span<const ReplicaView> replicas, RandomStream&) override {
    hash_chunks(call);
    std::size_t chosen = least_requests(replicas);
    if (!params_.balance.lost(replicas)) {
      for (const std::uint64_t chunk : chunks_) {
        const auto found = sent_.find(chunk);
        if (found == sent_.end()) break;
        chosen = found->second.replica;
      }
    }
    for (const std::uint64_t chunk : chunks_) remember(chunk, chosen);
    return chosen;
  }

 private:
  struct Sent {
    std::size_t replica = 0;
    std::list<std::uint64_t>::iterator place;
  };

  void remember(std::uint64_t chunk, std::size_t replica) {
    const auto [entry, added] = sent_.try_emplace(chunk);
    if (added) {
      entry->second.place = order_.insert(order_.end(), chunk);
    } else {
      order_.splice(order_.end(), order_, entry->second.place);
    }
    entry->second.replica = replica;
    if (order_.size() > static_cast<std::size_t>(params_.remembered)) {
      sent_.erase(order_.front());
      order_.pop_front();
    }
  }

  // One hash per whole chunk of the prompt, each of everything up to its end; the prompt as a whole counts as a chunk if it is shorter than
  // one.
  void hash_chunks(const RoutedCall& call) {
    chunks_.clear();
    std::uint64_t hash = 0x9e3779b97f4a7c15;
    const auto mix = [&hash](std::uint64_t word) {
      hash = (hash ^ word) * 0xff51afd7ed558ccd;
      hash ^= hash >> 32;
    };
    const std::int64_t end = call.prompt < params_.chunk ? call.prompt : call.prompt / params_.chunk * params_.chunk;
    std::int64_t at = 0;
    std::int64_t to_boundary = std::min(params_.chunk, end);
    for (const kv::Piece& piece : call.content) {
      std::int64_t first = piece.first;
      std::int64_t left = std::min(piece.length, end - at);
      while (left > 0) {
        const std::int64_t part = std::min(left, to_boundary);
        mix(piece.span);
        mix(static_cast<std::uint64_t>(first));
        mix(static_cast<std::uint64_t>(part));
        first += part, left -= part, at += part, to_boundary -= part;
        if (to_boundary == 0) {
          chunks_.push_back(hash);
          to_boundary = params_.chunk;
        }
      }
      if (at >= end) break;
    }
  }

  Params params_;
  std::unordered_map<std::uint64_t, Sent> sent_;  // looked up by key only, never walked
  std::list<std::uint64_t> order_;                // least recently sent first
  std::vector<std::uint64_t> chunks_;
};

}  // namespace marea::cluster::routers
