#include "sim/metrics/context_tree.h"

#include <algorithm>

#include "sim/base/error.h"

namespace marea::metrics {

kv::Piece ContextTree::Cursor::next() const {
  const kv::Piece& whole = content[piece];
  return {whole.span, whole.first + offset, std::min(whole.length - offset, left)};
}

void ContextTree::Cursor::advance(std::int64_t tokens) {
  offset += tokens;
  left -= tokens;
  if (offset == content[piece].length) {
    ++piece;
    offset = 0;
  }
}

ContextTree::Handle ContextTree::make(Handle parent) {
  Handle handle = static_cast<Handle>(nodes_.size());
  if (free_.empty()) {
    nodes_.emplace_back();
  } else {
    handle = free_.back();
    free_.pop_back();
  }
  nodes_[handle].parent = parent;
  nodes_[handle].holds = 0;
  nodes_[handle].edge.clear();
  return handle;
}

std::int64_t ContextTree::follow(Handle node, Cursor& cursor) const {
  std::int64_t agreed = 0;
  for (const kv::Piece& piece : nodes_[node].edge) {
    std::int64_t done = 0;
    while (done < piece.length && cursor.left > 0) {
      const kv::Piece next = cursor.next();
      if (next.length > 0 && (next.span != piece.span || next.first != piece.first + done)) return agreed;
      const std::int64_t step = std::min(next.length, piece.length - done);
      cursor.advance(step);
      done += step;
      agreed += step;
    }
    if (done < piece.length) return agreed;
  }
  return agreed;
}

ContextTree::Handle ContextTree::split(Handle node, std::int64_t tokens) {
  const Handle upper = make(nodes_[node].parent);
  children_[key(node)] = upper;
  kv::Content& whole = nodes_[node].edge;
  kv::Content& top = nodes_[upper].edge;
  std::size_t moved = 0;
  while (tokens >= whole[moved].length) {
    tokens -= whole[moved].length;
    top.push_back(whole[moved++]);
  }
  if (tokens > 0) {
    top.push_back({whole[moved].span, whole[moved].first, tokens});
    whole[moved].first += tokens;
    whole[moved].length -= tokens;
  }
  whole.erase(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(moved));
  nodes_[upper].holds = nodes_[node].holds;
  nodes_[node].parent = upper;
  children_[key(node)] = node;
  return upper;
}

ContextTree::Handle ContextTree::hold(kv::ContentView content, std::int64_t tokens) {
  Cursor cursor{content, 0, 0, tokens};
  Handle node = kNone;
  while (cursor.left > 0) {
    const kv::Piece next = cursor.next();
    const auto child = children_.find({node, next.span, next.first});
    if (child == children_.end()) {
      const Handle leaf = make(node);
      unique_ += cursor.left;
      while (cursor.left > 0) {
        const kv::Piece piece = cursor.next();
        kv::append(nodes_[leaf].edge, piece);
        cursor.advance(piece.length);
      }
      children_[key(leaf)] = leaf;
      node = leaf;
      break;
    }
    const Handle below = child->second;
    const std::int64_t agreed = follow(below, cursor);
    node = agreed < kv::length(nodes_[below].edge) ? split(below, agreed) : below;
  }
  for (Handle up = node; up != kNone; up = nodes_[up].parent) ++nodes_[up].holds;
  return node;
}

void ContextTree::release(Handle handle) {
  while (handle != kNone) {
    const Handle parent = nodes_[handle].parent;
    check(nodes_[handle].holds > 0, "a context was released twice");
    if (--nodes_[handle].holds == 0) {
      unique_ -= kv::length(nodes_[handle].edge);
      children_.erase(key(handle));
      free_.push_back(handle);
    }
    handle = parent;
  }
}

}  // namespace marea::metrics
