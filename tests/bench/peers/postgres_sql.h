// Reserve and Commit for PostgreSQL, as onced means them.
#pragma once

#include <string>

#include "tests/bench/peers/verdict.h"

namespace onced::bench {

// A statement is a transaction of its own, and one round trip. Parameters:
//   reserve       namespace, key, fingerprint, request_id, token
//   reserve_many  namespace, keys[], fingerprints[], request_ids[], tokens[]
//   commit        namespace, key, token, body
//   commit_many   namespace, keys[], tokens[], bodies[]
// Each answers one row a step, in their order: verdict, token, body, fence. The verdict
// RETRY means that another transaction got between: send the same again, which asks
// for the same grant.
struct PostgresSql {
  std::string table;
  std::string reserve;
  std::string reserve_many;
  std::string commit;
  std::string commit_many;
};
PostgresSql MakePostgresSql(const Terms& terms);

// Settings of each connection. A plan is made while the table is still small, and kept:
// these see to it that it is the one that a large table wants.
inline constexpr char kPostgresSettings[] =
    "-c enable_seqscan=off -c enable_mergejoin=off -c jit=off";

}  // namespace onced::bench
