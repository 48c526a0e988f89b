#include "database.h"

namespace payments {
namespace {

// Another process's transaction takes a moment; one that takes this long is stuck.
constexpr int kBusyMs = 10'000;

int Bind(sqlite3_stmt* statement, int index, const Value& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) {
    return sqlite3_bind_int64(statement, index, *number);
  }
  const auto& text = std::get<std::string>(value);
  return sqlite3_bind_text64(statement, index, text.data(), text.size(), SQLITE_TRANSIENT,
                             SQLITE_UTF8);
}

Value ValueOf(sqlite3_stmt* statement, int column) {
  if (sqlite3_column_type(statement, column) == SQLITE_INTEGER) {
    return sqlite3_column_int64(statement, column);
  }
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, column));
  return std::string(text == nullptr ? "" : text);
}

}  // namespace

Database::Database(const std::string& file) {
  sqlite3* connection = nullptr;
  const int opened = sqlite3_open(file.c_str(), &connection);
  connection_.reset(connection);  // There also if that failed, to say why.
  Must(opened);
  Must(sqlite3_busy_timeout(connection, kBusyMs));
  Run("PRAGMA journal_mode = WAL");  // Readers don't wait for writers.
  Run("PRAGMA synchronous = FULL");  // What is committed survives a power loss.
}

std::vector<Row> Database::Run(const std::string& sql, const Row& values) {
  sqlite3_stmt* const statement = Prepared(sql);
  sqlite3_reset(statement);  // Also after an error, the last time.
  for (std::size_t i = 0; i < values.size(); ++i) {
    Must(Bind(statement, static_cast<int>(i) + 1, values[i]));
  }
  std::vector<Row> rows;
  int step = 0;
  while ((step = sqlite3_step(statement)) == SQLITE_ROW) {
    Row& row = rows.emplace_back();
    for (int i = 0; i < sqlite3_column_count(statement); ++i) row.push_back(ValueOf(statement, i));
  }
  const int code = sqlite3_reset(statement);
  if (step != SQLITE_DONE) Must(code);
  return rows;
}

sqlite3_stmt* Database::Prepared(const std::string& sql) {
  auto& kept = prepared_[sql];
  if (kept == nullptr) {
    sqlite3_stmt* statement = nullptr;
    Must(sqlite3_prepare_v2(connection_.get(), sql.c_str(), -1, &statement, nullptr));
    kept.reset(statement);
  }
  return kept.get();
}

void Database::Must(int code) const {
  if (code == SQLITE_OK) return;
  throw SqlError(std::string("SQLite: ") + sqlite3_errmsg(connection_.get()));
}

// IMMEDIATE: a writer from the start. One that becomes it later may have read what isn't true any
// more, and SQLite would fail it then.
Transaction::Transaction(Database& database) : database_(database) {
  database_.Run("BEGIN IMMEDIATE");
}

Transaction::~Transaction() {
  if (!open_) return;
  try {
    database_.Run("ROLLBACK");
  } catch (const SqlError&) {
    // SQLite has rolled back by itself.
  }
}

void Transaction::Commit() {
  database_.Run("COMMIT");
  open_ = false;
}

}  // namespace payments
