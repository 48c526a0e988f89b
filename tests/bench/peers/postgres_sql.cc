#include "tests/bench/peers/postgres_sql.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace onced::bench {
namespace {

constexpr char kTable[] = R"(
CREATE TABLE reservation (
  namespace text NOT NULL,
  key text NOT NULL,
  committed boolean NOT NULL,
  fingerprint bytea NOT NULL,
  request_id bytea NOT NULL,
  token bytea NOT NULL,
  fence bigint NOT NULL,
  attempt int NOT NULL,
  reserve_time timestamptz NOT NULL,
  lease_expire_time timestamptz NOT NULL,
  expire_time timestamptz NOT NULL,
  commit_time timestamptz,
  status_code int,
  body bytea,
  PRIMARY KEY (namespace, key))
)";

// Looks first, so that a replay is a read: INSERT ... ON CONFLICT DO UPDATE locks the
// row that it then leaves alone, which is a write with a sync of its own. $stands is
// what keeps a reservation from being granted.
constexpr char kReserve[] = R"(
WITH stands AS (
  SELECT * FROM reservation AS r
  WHERE namespace = $1 AND key = $2 AND $stands),
granted AS (
  INSERT INTO reservation AS r (namespace, key, committed, fingerprint, request_id, token, fence,
                                attempt, reserve_time, lease_expire_time, expire_time)
  SELECT $1, $2, false, $3, $4, $5, $fence, 1, now(), now() + $lease, now() + $lease + $lapsed
  WHERE NOT EXISTS (SELECT FROM stands)
  $on_conflict
  RETURNING token, fence),
answer AS (
  SELECT 'FRESH', token, NULL::bytea, fence FROM granted
  UNION ALL
  SELECT $verdict, token, body, fence FROM stands AS s, (SELECT $3, $4) AS w (fingerprint, request_id))
SELECT * FROM answer
UNION ALL
SELECT 'RETRY', NULL, NULL, NULL WHERE NOT EXISTS (SELECT FROM answer)
)";

// The same for many. Of two steps with one key, the second finds the first's. OFFSET 0
// makes each key a look-up of its own; in one order, so that two such statements don't
// wait for each other.
constexpr char kReserveMany[] = R"(
WITH wanted AS MATERIALIZED (
  SELECT * FROM unnest($2::text[], $3::bytea[], $4::bytea[], $5::bytea[])
    WITH ORDINALITY AS w (key, fingerprint, request_id, token, n)),
stands AS MATERIALIZED (
  SELECT w.n, f.* FROM wanted AS w CROSS JOIN LATERAL (
    SELECT * FROM reservation AS r
    WHERE namespace = $1 AND key = w.key AND $lateral_stands OFFSET 0) AS f),
granted AS (
  INSERT INTO reservation AS r (namespace, key, committed, fingerprint, request_id, token, fence,
                                attempt, reserve_time, lease_expire_time, expire_time)
  SELECT DISTINCT ON (key) $1, key, false, fingerprint, request_id, token, $fence, 1, now(),
         now() + $lease, now() + $lease + $lapsed
  FROM wanted WHERE n NOT IN (SELECT n FROM stands)
  ORDER BY key, n
  $on_conflict
  RETURNING key, fingerprint, token, fence)
SELECT CASE WHEN s.n IS NOT NULL THEN $verdict
            WHEN g.token = w.token THEN 'FRESH'
            WHEN g.fingerprint <> w.fingerprint THEN 'MISMATCH'
            WHEN g.token IS NOT NULL THEN 'CONFLICT'
            ELSE 'RETRY' END,
       coalesce(s.token, g.token), s.body, coalesce(s.fence, g.fence)
FROM wanted AS w LEFT JOIN granted AS g USING (key) LEFT JOIN stands AS s ON s.n = w.n
ORDER BY w.n
)";

constexpr char kOnConflict[] = R"(
  ON CONFLICT (namespace, key) DO UPDATE SET
    committed = false, fingerprint = excluded.fingerprint, request_id = excluded.request_id,
    token = excluded.token, fence = greatest(excluded.fence, r.fence + 1),
    attempt = CASE WHEN r.expire_time <= now() THEN 1 ELSE r.attempt + 1 END,
    reserve_time = excluded.reserve_time, lease_expire_time = excluded.lease_expire_time,
    expire_time = excluded.expire_time, commit_time = NULL, status_code = NULL, body = NULL
  WHERE r.expire_time <= now()
     OR (NOT r.committed AND r.lease_expire_time <= now() AND r.fingerprint = excluded.fingerprint)
)";

constexpr char kVerdict[] = R"(
  CASE WHEN s.fingerprint <> w.fingerprint THEN 'MISMATCH'
       WHEN s.committed THEN 'REPLAYED'
       WHEN s.request_id = w.request_id AND s.request_id <> '' THEN 'FRESH'
       ELSE 'CONFLICT' END)";

// One that has lapsed is still there for another fingerprint.
constexpr char kStands[] = R"(r.expire_time > now()
    AND (r.committed OR r.lease_expire_time > now() OR r.fingerprint <> $3))";

constexpr char kCommit[] = R"(
WITH done AS (
  UPDATE reservation SET committed = true, status_code = $status, body = $4, commit_time = now(),
                         expire_time = now() + $retention
  WHERE namespace = $1 AND key = $2 AND token = $3 AND NOT committed AND expire_time > now()
  RETURNING fence),
answer AS (
  SELECT 'COMMITTED', NULL::bytea, NULL::bytea, fence FROM done
  UNION ALL
  SELECT CASE WHEN token <> $3 THEN 'SUPERSEDED'
              WHEN NOT committed THEN 'RETRY'
              WHEN body = $4 AND status_code = $status THEN 'ALREADY_COMMITTED'
              ELSE 'COMMITTED_DIFFERENTLY' END, NULL, NULL, fence
  FROM reservation
  WHERE namespace = $1 AND key = $2 AND expire_time > now() AND NOT EXISTS (SELECT FROM done))
SELECT * FROM answer
UNION ALL
SELECT 'NOT_RESERVED', NULL, NULL, NULL WHERE NOT EXISTS (SELECT FROM answer)
)";

// By ctid, which is an address in the table: a join by key could be planned as a scan.
// A row that another transaction moves meanwhile says RETRY.
constexpr char kCommitMany[] = R"(
WITH wanted AS MATERIALIZED (
  SELECT * FROM unnest($2::text[], $3::bytea[], $4::bytea[])
    WITH ORDINALITY AS w (key, token, body, n)),
found AS MATERIALIZED (
  SELECT w.n, w.token AS wanted_token, w.body AS wanted_body, f.*
  FROM wanted AS w CROSS JOIN LATERAL (
    SELECT ctid AS tid, committed, token, status_code, body FROM reservation AS r
    WHERE namespace = $1 AND key = w.key AND expire_time > now() OFFSET 0) AS f
  ORDER BY key),
done AS (
  UPDATE reservation AS r SET committed = true, status_code = $status, body = f.wanted_body,
                              commit_time = now(), expire_time = now() + $retention
  FROM found AS f
  WHERE r.ctid = f.tid AND r.token = f.wanted_token AND NOT r.committed
  RETURNING f.n)
SELECT CASE WHEN w.n IN (SELECT n FROM done) THEN 'COMMITTED'
            WHEN f.n IS NULL THEN 'NOT_RESERVED'
            WHEN f.token <> f.wanted_token THEN 'SUPERSEDED'
            WHEN NOT f.committed THEN 'RETRY'
            WHEN f.body = f.wanted_body AND f.status_code = $status THEN 'ALREADY_COMMITTED'
            ELSE 'COMMITTED_DIFFERENTLY' END, NULL::bytea, NULL::bytea, NULL::bigint
FROM wanted AS w LEFT JOIN found AS f ON f.n = w.n
ORDER BY w.n
)";

std::string Milliseconds(std::int64_t count) {
  return absl::StrCat("interval '", count, " milliseconds'");
}

}  // namespace

PostgresSql MakePostgresSql(const Terms& terms) {
  const auto fill = [&terms](const char* statement) {
    // Twice: what is filled in has more to fill in.
    std::string text = absl::StrReplaceAll(
        statement, {{"$on_conflict", kOnConflict},
                    {"$verdict", kVerdict},
                    {"$lateral_stands", absl::StrReplaceAll(kStands, {{"$3", "w.fingerprint"}})},
                    {"$stands", kStands}});
    return absl::StrReplaceAll(text, {{"$fence", "(extract(epoch FROM now()) * 1000000)::bigint"},
                                      {"$lease", Milliseconds(terms.lease_ms)},
                                      {"$lapsed", Milliseconds(terms.lapsed_retention_ms)},
                                      {"$retention", Milliseconds(terms.retention_ms)},
                                      {"$status", absl::StrCat(kStatusCode)}});
  };
  return {.table = kTable,
          .reserve = fill(kReserve),
          .reserve_many = fill(kReserveMany),
          .commit = fill(kCommit),
          .commit_many = fill(kCommitMany)};
}

}  // namespace onced::bench
