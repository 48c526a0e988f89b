// Reserve and Commit for Redis, as onced means them.
#pragma once

#include <string_view>

namespace onced::bench {

// A record is one string, so that it is read by one command and written by one:
// struct.pack of
//   state (1 PENDING, 2 COMMITTED), token (16 bytes), fence, lease end in us, attempt,
//   fingerprint, request_id, then the body of a COMMITTED one.
// A lapsed reservation stays for its retention, so that a late commit still counts
// and the fence grows; Redis forgets whatever has expired.
//
// Where onced does more, Redis is spared it: the caller draws the token, and a
// fence that comes from the server's clock needs no counter of its own to be
// written. Redis's clock may step.

// KEYS: the key. ARGV: fingerprint, request_id, token, lease_ms, lapsed_retention_ms.
// Answers {verdict, token, fence, lease end in us} or {"REPLAYED", body, fence}.
inline constexpr std::string_view kRedisReserve = R"(
local fingerprint, request_id, token = ARGV[1], ARGV[2], ARGV[3]
local time = redis.call('TIME')
local now_us = time[1] * 1000000 + time[2]
local fence, attempt = now_us, 1
local found = redis.call('GET', KEYS[1])
if found then
  local state, held_by, held_fence, lease_end, attempts, print, id, rest =
      struct.unpack('>Bc16ddI4Bc0Bc0', found)
  if print ~= fingerprint then return {'MISMATCH'} end
  if state == 2 then return {'REPLAYED', string.sub(found, rest), held_fence} end
  if lease_end > now_us then
    if id == request_id and id ~= '' then return {'FRESH', held_by, held_fence, lease_end} end
    return {'CONFLICT', '', held_fence, lease_end}
  end
  fence = math.max(now_us, held_fence + 1)
  attempt = attempts + 1
end
local lease_end = now_us + ARGV[4] * 1000
redis.call('SET', KEYS[1],
    struct.pack('>Bc16ddI4Bc0Bc0', 1, token, fence, lease_end, attempt,
                #fingerprint, fingerprint, #request_id, request_id),
    'PX', ARGV[4] + ARGV[5])
return {'FRESH', token, fence, lease_end}
)";

// KEYS: the key. ARGV: token, retention_ms, status code, body.
// Answers {verdict, "", time of the commit in us}.
inline constexpr std::string_view kRedisCommit = R"(
local found = redis.call('GET', KEYS[1])
if not found then return {'NOT_RESERVED'} end
local state, held_by, fence, lease_end, attempts, print, id, rest =
    struct.unpack('>Bc16ddI4Bc0Bc0', found)
if held_by ~= ARGV[1] then return {'SUPERSEDED'} end
local result = struct.pack('>I4', ARGV[3]) .. ARGV[4]
if state == 2 then
  if string.sub(found, rest) == result then return {'ALREADY_COMMITTED'} end
  return {'COMMITTED_DIFFERENTLY'}
end
local time = redis.call('TIME')
local now_us = time[1] * 1000000 + time[2]
redis.call('SET', KEYS[1],
    struct.pack('>Bc16ddI4Bc0Bc0', 2, held_by, fence, now_us, attempts, #print, print, #id, id)
        .. result,
    'PX', ARGV[2])
return {'COMMITTED', '', now_us}
)";

// The status code stands before the body, in so many bytes.
inline constexpr std::size_t kRedisStatusBytes = 4;

}  // namespace onced::bench
