#include "tests/examples/payments/ledger.h"

#include <sqlite3.h>

#include <functional>
#include <stdexcept>

namespace onced::examples {
namespace {

void Query(const std::string& file, const std::string& sql,
           const std::function<void(sqlite3_stmt*)>& row) {
  sqlite3* connection = nullptr;
  sqlite3_stmt* statement = nullptr;
  int code = sqlite3_open_v2(file.c_str(), &connection, SQLITE_OPEN_READWRITE, nullptr);
  if (code == SQLITE_OK) code = sqlite3_busy_timeout(connection, 60'000);
  if (code == SQLITE_OK) {
    code = sqlite3_prepare_v2(connection, sql.c_str(), -1, &statement, nullptr);
  }
  if (code == SQLITE_OK) {
    while ((code = sqlite3_step(statement)) == SQLITE_ROW) row(statement);
  }
  const std::string error = sqlite3_errmsg(connection);
  sqlite3_finalize(statement);
  sqlite3_close_v2(connection);
  if (code != SQLITE_DONE) throw std::runtime_error(sql + ": " + error);
}

std::string Text(sqlite3_stmt* statement, int column) {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, column));
  return text == nullptr ? "" : text;
}

}  // namespace

std::map<std::string, std::vector<Charged>> ChargesIn(const std::string& file) {
  std::map<std::string, std::vector<Charged>> charges;
  Query(file, "SELECT payment_id, charge_id, cents, currency FROM charges", [&](sqlite3_stmt* row) {
    charges[Text(row, 0)].push_back({Text(row, 1), sqlite3_column_int64(row, 2), Text(row, 3)});
  });
  return charges;
}

std::string EvidenceIn(const std::string& file, const std::string& payment_id) {
  std::string evidence;
  for (const std::string table : {"charges", "fences", "refused", "takeovers"}) {
    Query(file, "SELECT * FROM " + table + " WHERE payment_id = '" + payment_id + "'",
          [&](sqlite3_stmt* row) {
            evidence += table + ":";
            for (int i = 0; i < sqlite3_column_count(row); ++i) {
              evidence += std::string(" ") + sqlite3_column_name(row, i) + "=" + Text(row, i);
            }
            evidence += "\n";
          });
  }
  return evidence;
}

std::int64_t NumberIn(const std::string& file, const std::string& sql) {
  std::int64_t number = 0;
  Query(file, sql, [&](sqlite3_stmt* row) { number = sqlite3_column_int64(row, 0); });
  return number;
}

}  // namespace onced::examples
