// Which texts may stand in YAML without quotes and mean themselves. The parser marks everything else as quoted and the writer quotes it,
// so that both agree by construction.
#pragma once

#include <string_view>

namespace marea {

// True when `text`, written plainly in block style as a key or a value, is read back as the same scalar. Conservative: some
// texts that YAML would accept are refused, none that it would change is accepted.
bool plain_scalar(std::string_view text);

}  // namespace marea
