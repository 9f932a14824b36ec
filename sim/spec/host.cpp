#include "sim/spec/host.h"

namespace marea::spec {

HostCost read_host(const Value& value) {
  Section section(value);
  const Sources sources(section);
  HostCost cost;
  for (const char* words : {"name", "about"})
    if (const std::optional<Value> text = section.optional(words)) text->text();
  const auto seconds = [&](Section& from, const char* key, Seconds& into) {
    if (const std::optional<Value> given = from.optional(key)) into = read_seconds(*given);
  };
  seconds(section, "step", cost.step);
  seconds(section, "sequence", cost.sequence);
  seconds(section, "layer", cost.layer);
  seconds(section, "admission", cost.admission);
  seconds(section, "eager", cost.eager);
  seconds(section, "eager_layer", cost.eager_layer);
  seconds(section, "prompt_token", cost.prompt_token);
  if (const std::optional<Value> overlaps = section.optional("overlaps")) cost.overlaps = overlaps->boolean();
  if (const std::optional<Value> given = section.optional("front_end")) {
    Section front_end(*given);
    seconds(front_end, "call", cost.call);
    seconds(front_end, "token", cost.token);
    front_end.close();
  }
  cost.origin = sources.read(section);
  section.close();
  return cost;
}

}  // namespace marea::spec
