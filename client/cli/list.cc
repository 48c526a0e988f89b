// oncectl list: the records of a namespace.
#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "client/cli/command.h"
#include "client/cli/describe.h"
#include "client/cli/pages.h"
#include "client/cli/text.h"

namespace onced::cli {
namespace {

namespace admin_v1 = ::idempotency::admin::v1;

constexpr std::int64_t kPageMax = 1'000;
constexpr std::int64_t kLimitDefault = 1'000;
constexpr std::int64_t kLimitMax = 100'000;  // They are kept until all are there.

void AddStates(Args& args, admin_v1::ListRequest& request) {
  for (const std::string& text : args.All("state")) {
    v1::State state = v1::STATE_UNSPECIFIED;
    const std::string name = absl::StrCat("STATE_", absl::AsciiStrToUpper(text));
    if (!v1::State_Parse(name, &state) || state == v1::STATE_UNSPECIFIED) {
      args.AddProblem(
          absl::StrCat("--state isn't PENDING, LAPSED or COMMITTED: ", Printable(text)));
    } else {
      request.add_states(state);
    }
  }
}

std::string TimeOr(bool set, const google::protobuf::Timestamp& time, const char* otherwise) {
  return set ? TimeText(time) : otherwise;
}

std::string TableOf(const admin_v1::ListResponse& response) {
  Table table({"STATE", "FENCE", "ATTEMPT", "RESERVED", "LEASE ENDS", "GONE BY", "OWNER", "KEY"});
  for (const admin_v1::ListedRecord& record : response.records()) {
    // What an operator has to settle is told from what takes care of itself.
    const bool held = record.state() == v1::STATE_LAPSED && record.on_lapse() == v1::ON_LAPSE_HOLD;
    table.Add({StateText(record.state()) + (held ? " (held)" : ""), absl::StrCat(record.fence()),
               absl::StrCat(record.attempt()), TimeText(record.reserve_time()),
               TimeOr(record.has_lease_expire_time(), record.lease_expire_time(), "-"),
               TimeOr(record.has_expire_time(), record.expire_time(), "never"),
               record.owner().empty() ? "-" : Printable(record.owner()), Printable(record.key())});
  }
  return table.Text();
}

std::vector<std::string> NotesOn(const admin_v1::ListResponse& response) {
  std::vector<std::string> notes;
  for (const admin_v1::Unreadable& unreadable : response.unreadable()) {
    const std::string what = unreadable.key().empty()
                                 ? absl::StrCat("the rest of shard ", unreadable.shard())
                                 : absl::StrCat("key ", Printable(unreadable.key()));
    notes.push_back(absl::StrCat("can't be read: ", what, ": ", Printable(unreadable.message())));
  }
  if (!response.next_page_token().empty()) {
    notes.push_back(absl::StrCat("there may be more: --page-token ",
                                 Printable(response.next_page_token()), ", or a larger --limit"));
  }
  return notes;
}

// All pages up to the limit, as one.
absl::StatusOr<admin_v1::ListResponse> ListUpTo(std::int64_t limit, Context& context,
                                                const std::string& server,
                                                admin_v1::ListRequest request) {
  client::AdminClient admin = context.connect_admin(server);
  admin_v1::ListResponse all;
  do {
    const std::int64_t left = limit - all.records_size();
    request.set_page_size(static_cast<std::int32_t>(std::min(left, kPageMax)));
    absl::StatusOr<admin_v1::ListResponse> page =
        CallPatiently(context, [&](const auto& options) { return admin.List(request, options); });
    if (!page.ok()) return page;
    all.MergeFrom(*page);
    all.set_next_page_token(page->next_page_token());  // Merging keeps an old one.
    request.set_page_token(page->next_page_token());
  } while (!all.next_page_token().empty() && all.records_size() < limit);
  return all;
}

absl::StatusOr<Answer> Run(Context& context) {
  Args& args = context.args;
  const std::string server = AdminServerOf(context);
  admin_v1::ListRequest request;
  request.set_namespace_(args.RequiredUtf8("namespace"));
  request.set_key_prefix(args.Utf8("key-prefix"));
  request.set_page_token(args.Utf8("page-token"));
  AddStates(args, request);
  const std::int64_t limit = args.Integer("limit", 1, kLimitMax).value_or(kLimitDefault);
  if (absl::Status problems = args.Problems(); !problems.ok()) return problems;

  absl::StatusOr<admin_v1::ListResponse> all = ListUpTo(limit, context, server, request);
  if (!all.ok()) return all.status();
  Answer answer{.text = TableOf(*all), .notes = NotesOn(*all)};
  answer.response = std::make_shared<admin_v1::ListResponse>(*std::move(all));
  return answer;
}

}  // namespace

Command ListCommand() {
  return {.name = "list",
          .summary = "List the records of a namespace.",
          .flags = {AdminServerFlag(),
                    {"namespace", Flag::kValue, "NAME", "Whose records. Required."},
                    {"state", Flag::kRepeated, "STATE",
                     "Only those that are PENDING, LAPSED or COMMITTED. Default: all."},
                    {"key-prefix", Flag::kValue, "TEXT", "Only keys that begin with it."},
                    {"limit", Flag::kValue, "N",
                     "At most so many, up to 100000. Pages are followed until then.\n"
                     "Default: 1000."},
                    {"page-token", Flag::kValue, "TOKEN",
                     "Go on where an earlier list ended: its next_page_token, with everything\n"
                     "else as it was."}},
          .more =
              "Records are in no order that means anything. LAPSED (held) are those that somebody\n"
              "has to settle: see oncectl help resolve. --json prints one object with all\n"
              "records, and next_page_token if there may be more.\n",
          .run = Run};
}

}  // namespace onced::cli
