#include "books.h"

#include <vector>

namespace payments {
namespace {

constexpr const char* kTables[] = {
    // No key says that a payment is in here once. That is onced's business, and a payment that was
    // charged twice would show.
    "CREATE TABLE IF NOT EXISTS charges ("
    " charge_id TEXT PRIMARY KEY, payment_id TEXT NOT NULL, cents INTEGER NOT NULL,"
    " currency TEXT NOT NULL, fence INTEGER NOT NULL)",
    "CREATE INDEX IF NOT EXISTS charges_by_payment ON charges (payment_id)",
    // The largest fence that has come for a payment.
    "CREATE TABLE IF NOT EXISTS fences (payment_id TEXT PRIMARY KEY, fence INTEGER NOT NULL)",
    // For people: who came too late, and who took over. `found`: the charge was there already.
    "CREATE TABLE IF NOT EXISTS refused ("
    " payment_id TEXT NOT NULL, fence INTEGER NOT NULL, newer_fence INTEGER NOT NULL)",
    "CREATE TABLE IF NOT EXISTS takeovers ("
    " payment_id TEXT NOT NULL, fence INTEGER NOT NULL, found INTEGER NOT NULL)",
};

}  // namespace

Books::Books(const std::string& file) : database_(file) {
  for (const char* table : kTables) database_.Run(table);
}

// The fence is compared in the transaction that charges. Compared before it, it would be worth
// nothing: a worker may be frozen just after the comparison, and wake up when its lease is long
// over and another has charged the payment. No lease and no clock stops it, since it looks at
// neither while it is frozen. A transaction does: either it ends before the other's, which then
// finds its charge, or it begins after it, and finds its fence.
std::optional<std::string> Books::Charge(const Payment& payment, const Grant& grant) {
  const std::lock_guard lock(mutex_);
  Transaction transaction(database_);

  // Somebody was granted the payment after this run, and was here: it isn't this run's any more.
  const std::optional<std::int64_t> last = LastFence(payment.id);
  if (last.has_value() && *last > grant.fence) {
    database_.Run("INSERT INTO refused VALUES (?, ?, ?)", {payment.id, grant.fence, *last});
    transaction.Commit();
    return std::nullopt;
  }
  // From here on, those who were granted it before this run are refused.
  database_.Run("INSERT OR REPLACE INTO fences VALUES (?, ?)", {payment.id, grant.fence});

  // The run that this one takes over from may have died after it had charged and before it could
  // say so. Only who keeps the books can tell; of a payment provider one would ask the same, by
  // the payment's id.
  std::optional<std::string> charge;
  if (grant.takeover) {
    charge = Find(payment.id);
    database_.Run("INSERT INTO takeovers VALUES (?, ?, ?)",
                  {payment.id, grant.fence, std::int64_t{charge.has_value()}});
  }
  if (!charge.has_value()) charge = Insert(payment, grant);
  transaction.Commit();
  return charge;
}

std::optional<std::int64_t> Books::LastFence(const std::string& payment_id) {
  const std::vector<Row> rows =
      database_.Run("SELECT fence FROM fences WHERE payment_id = ?", {payment_id});
  if (rows.empty()) return std::nullopt;
  return std::get<std::int64_t>(rows[0][0]);
}

std::optional<std::string> Books::Find(const std::string& payment_id) {
  const std::vector<Row> rows =
      database_.Run("SELECT charge_id FROM charges WHERE payment_id = ?", {payment_id});
  if (rows.empty()) return std::nullopt;
  return std::get<std::string>(rows[0][0]);
}

std::string Books::Insert(const Payment& payment, const Grant& grant) {
  const std::vector<Row> rows = database_.Run(
      "INSERT INTO charges VALUES ('ch_' || lower(hex(randomblob(8))), ?, ?, ?, ?)"
      " RETURNING charge_id",
      {payment.id, payment.cents, payment.currency, grant.fence});
  return std::get<std::string>(rows.at(0)[0]);
}

}  // namespace payments
