// Rows as a table with columns as wide as they need to be, as CSV, or as one JSON array.
#include "tools/rows.h"

#include <algorithm>

#include "tools/document.h"
#include "tools/terminal.h"

namespace marea::cli {

namespace {

constexpr int kLeastText = 24;  // a narrower last column is not worth wrapping

std::string text_of(const nlohmann::json& value) {
  if (value.is_null()) return {};
  return value.is_string() ? value.get<std::string>() : value.dump();
}

}  // namespace

RowPrinter::RowPrinter(Format format, std::vector<std::string> columns)
    : format_(format), columns_(std::move(columns)), numeric_(columns_.size(), true) {
  if (format_ != Format::csv) return;
  std::string line;
  for (const std::string& column : columns_) line += (line.empty() ? "" : ",") + column;
  print(line + "\n");
}

void RowPrinter::row(const std::vector<nlohmann::json>& values) {
  if (format_ == Format::json) {
    nlohmann::ordered_json json;
    for (std::size_t i = 0; i < columns_.size(); ++i) json[columns_[i]] = values[i];
    print((first_ ? "[\n" : ",\n") + json.dump());
    first_ = false;
    return;
  }
  std::vector<std::string> cells;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    cells.push_back(text_of(values[i]));
    if (!values[i].is_number() && !values[i].is_null()) numeric_[i] = false;
  }
  if (format_ == Format::table) {
    table_.push_back(std::move(cells));
    return;
  }
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) line += (i == 0 ? "" : ",") + csv_field(cells[i]);
  print(line + "\n");
}

void RowPrinter::end() {
  if (format_ == Format::json) print(first_ ? "[]\n" : "\n]\n");
  if (format_ != Format::table) return;
  std::vector<int> widths;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    int widest = width(columns_[i]);
    for (const auto& cells : table_) widest = std::max(widest, width(cells[i]));
    widths.push_back(widest);
  }
  int before = 0;  // columns to the left of the last one
  for (std::size_t i = 0; i + 1 < widths.size(); ++i) before += widths[i] + 2;
  const int screen = terminal_width();
  const bool wrapped = screen >= before + kLeastText;
  const auto line = [&](const std::vector<std::string>& cells) {
    std::string text;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const bool last = i + 1 == cells.size();
      const std::string cell = last && wrapped ? wrap(cells[i], screen, before) : cells[i];
      text += numeric_[i] ? right(cell, widths[i]) : last ? cell : left(cell, widths[i]);
      if (!last) text += "  ";
    }
    text.erase(text.find_last_not_of(' ') + 1);
    return text + "\n";
  };
  print(line(columns_));
  for (const auto& cells : table_) print(line(cells));
}

}  // namespace marea::cli
