// oncectl evict, evict-namespace: deletes records.
#include <limits>

#include "absl/strings/str_cat.h"
#include "client/cli/command.h"
#include "client/cli/describe.h"
#include "client/cli/failure.h"
#include "client/cli/pages.h"
#include "client/cli/text.h"

namespace onced::cli {
namespace {

namespace admin_v1 = ::idempotency::admin::v1;

absl::StatusOr<Answer> Evict(Context& context) {
  Args& args = context.args;
  const std::string server = AdminServerOf(context);
  admin_v1::EvictRequest request;
  request.set_namespace_(args.RequiredUtf8("namespace"));
  request.set_key(args.RequiredUtf8("key"));
  args.Required("fence");
  request.set_fence(args.Integer("fence", 1, std::numeric_limits<std::int64_t>::max()).value_or(0));
  request.set_force(args.Has("force"));
  request.set_comment(args.Utf8("comment"));
  if (absl::Status problems = args.Problems(); !problems.ok()) return problems;

  const absl::StatusOr<admin_v1::EvictResponse> response =
      context.connect_admin(server).Evict(request, context.Options());
  if (!response.ok()) return response.status();
  Lines lines;
  lines.Add("evicted", response->evicted() ? "true" : "false");
  lines.Add("state", StateText(response->state()));
  return Answer{.response = std::make_shared<admin_v1::EvictResponse>(*response),
                .text = lines.Text()};
}

void AddTo(admin_v1::EvictNamespaceResponse& sum, const admin_v1::EvictNamespaceResponse& page) {
  sum.set_evicted(sum.evicted() + page.evicted());
  sum.set_skipped_held(sum.skipped_held() + page.skipped_held());
  sum.set_skipped_changed(sum.skipped_changed() + page.skipped_changed());
  sum.set_skipped_unreadable(sum.skipped_unreadable() + page.skipped_unreadable());
}

std::string TextOf(const admin_v1::EvictNamespaceResponse& sum) {
  Lines lines;
  lines.Add("evicted", absl::StrCat(sum.evicted()));
  lines.Add("skipped_held", absl::StrCat(sum.skipped_held()));
  lines.Add("skipped_changed", absl::StrCat(sum.skipped_changed()));
  lines.Add("skipped_unreadable", absl::StrCat(sum.skipped_unreadable()));
  return lines.Text();
}

// Says, beside what went wrong, what was done before.
absl::Status After(const admin_v1::EvictNamespaceResponse& sum, const absl::Status& failure) {
  client::ErrorDetails details = client::DetailsOf(failure);
  absl::StrAppend(&details.message, " (that is of the last call; ", sum.evicted(),
                  " records were evicted by those before it)");
  return client::ToAbslStatus(details);
}

absl::StatusOr<Answer> EvictNamespace(Context& context) {
  Args& args = context.args;
  const std::string server = AdminServerOf(context);
  admin_v1::EvictNamespaceRequest request;
  request.set_namespace_(args.RequiredUtf8("namespace"));
  request.set_force(args.Has("force"));
  request.set_comment(args.Utf8("comment"));
  if (!args.Has("yes")) {
    args.AddProblem("every record of the namespace is deleted, stored results as well: say --yes");
  }
  if (absl::Status problems = args.Problems(); !problems.ok()) return problems;

  client::AdminClient admin = context.connect_admin(server);
  admin_v1::EvictNamespaceResponse sum;
  do {
    const absl::StatusOr<admin_v1::EvictNamespaceResponse> page = CallPatiently(
        context, [&](const auto& options) { return admin.EvictNamespace(request, options); });
    if (!page.ok()) return After(sum, page.status());
    AddTo(sum, *page);
    request.set_page_token(page->next_page_token());
  } while (!request.page_token().empty());
  return Answer{.response = std::make_shared<admin_v1::EvictNamespaceResponse>(sum),
                .text = TextOf(sum)};
}

}  // namespace

Command EvictCommand() {
  std::vector<Flag> flags = KeyFlags();
  flags.insert(flags.begin(), AdminServerFlag());
  flags.insert(flags.end(), {FenceFlag(),
                             {"force", Flag::kSwitch, "",
                              "Also while the lease is running, and the holder may be at work."},
                             CommentFlag()});
  return {.name = "evict",
          .summary = "Delete one record, a stored result as well.",
          .flags = flags,
          .more =
              "The next reserve of the key is FRESH: what was done is done again. A key without a\n"
              "record is a success too, with `evicted: false`.\n",
          .run = Evict};
}

Command EvictNamespaceCommand() {
  return {
      .name = "evict-namespace",
      .summary = "Delete all records of a namespace.",
      .flags = {AdminServerFlag(),
                {"namespace", Flag::kValue, "NAME", "Whose records. Required."},
                {"yes", Flag::kSwitch, "", "It is meant. Required."},
                {"force", Flag::kSwitch, "",
                 "Also those whose lease is running, and whose holders may be at work."},
                CommentFlag()},
      .more =
          "Page by page, and --timeout is for each; after an error, the rest can be done by the\n"
          "same command. What is reserved meanwhile may stay.\n",
      .run = EvictNamespace};
}

}  // namespace onced::cli
