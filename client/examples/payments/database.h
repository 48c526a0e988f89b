// SQLite, as far as the books need it.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

namespace payments {

class SqlError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

using Value = std::variant<std::int64_t, std::string>;
using Row = std::vector<Value>;

// A connection to a file, which other processes may have open, too.
// Threads: one at a time.
class Database {
 public:
  explicit Database(const std::string& file);

  // Runs one statement with `values` for its question marks. Prepared when it is first run, it is
  // kept for the next time. Throws SqlError.
  std::vector<Row> Run(const std::string& sql, const Row& values = {});

 private:
  struct Close {
    void operator()(sqlite3* connection) const { sqlite3_close_v2(connection); }
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };

  sqlite3_stmt* Prepared(const std::string& sql);
  void Must(int code) const;

  std::unique_ptr<sqlite3, Close> connection_;
  std::map<std::string, std::unique_ptr<sqlite3_stmt, Close>> prepared_;
};

// All of what is done in its lifetime, or nothing: without Commit() nothing.
class Transaction {
 public:
  // Waits until no other process writes: what is read from now on stays true until the end.
  explicit Transaction(Database& database);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  void Commit();

 private:
  Database& database_;
  bool open_ = true;
};

}  // namespace payments
