// Who may do what to a namespace, and that a refusal says nothing of it.
#include "server/rpc/admin_validate.h"

#include <string>

#include "gtest/gtest.h"
#include "server/rpc/errors.h"

namespace onced {
namespace {

namespace admin_v1 = idempotency::admin::v1;

class AdminRights : public testing::Test {
 protected:
  AdminRights()
      : access_(
            {{"own", {"mine"}, {.admin = true}}, {"own", {"*"}, {.use = true, .inspect = true}}}),
        caller_("own", access_.GrantsOf({std::string("own")})) {}

  template <typename Message>
  std::string ReasonFor(Message message, const std::string& name_space) {
    message.set_namespace_(name_space);
    const auto checked = AdminValidator(policies_, caller_).Check(message);
    const auto* error = std::get_if<google::rpc::Status>(&checked);
    return error == nullptr ? "" : ReasonOf(*error);
  }

  const AccessList access_;
  const Caller caller_;
  const PolicyTable policies_{{{"mine", Policy{}}}, std::nullopt};
};

TEST_F(AdminRights, NeedTheRightAdminOnTheNamespace) {
  admin_v1::ResolveRequest resolve;
  resolve.set_key("key");
  resolve.set_fence(1);
  resolve.mutable_release();
  admin_v1::EvictRequest evict;
  evict.set_key("key");
  evict.set_fence(1);
  const auto all = [&](const std::string& name_space) {
    return ReasonFor(resolve, name_space) + "," + ReasonFor(evict, name_space) + "," +
           ReasonFor(admin_v1::ListRequest(), name_space) + "," +
           ReasonFor(admin_v1::EvictNamespaceRequest(), name_space);
  };
  EXPECT_EQ(all("mine"), ",,,");
  EXPECT_EQ(all("theirs"),
            "NAMESPACE_NOT_ALLOWED,NAMESPACE_NOT_ALLOWED,NAMESPACE_NOT_ALLOWED,"
            "NAMESPACE_NOT_ALLOWED");
  EXPECT_EQ(all("not a name"), "INVALID_FIELD,INVALID_FIELD,INVALID_FIELD,INVALID_FIELD");
}

// Nothing else that is wrong is told to who may not be here.
TEST_F(AdminRights, AreAskedForFirst) {
  EXPECT_EQ(ReasonFor(admin_v1::ResolveRequest(), "theirs"), "NAMESPACE_NOT_ALLOWED");
  EXPECT_EQ(ReasonFor(admin_v1::ResolveRequest(), "mine"), "INVALID_FIELD");
}

// Who has the right nowhere isn't even told that it is no name.
TEST_F(AdminRights, AnInvalidNameIsToldToWhoHasTheRightSomewhere) {
  const AccessList access({{"user", {"*"}, {.use = true, .inspect = true}}});
  const Caller user("user", access.GrantsOf({std::string("user")}));
  admin_v1::ListRequest list;
  list.set_namespace_("not a name");
  const auto checked = AdminValidator(policies_, user).Check(list);
  ASSERT_TRUE(std::holds_alternative<google::rpc::Status>(checked));
  EXPECT_EQ(ReasonOf(std::get<google::rpc::Status>(checked)), "NAMESPACE_NOT_ALLOWED");
}

// Its records are there, though nobody may use it any more.
TEST(AdminValidator, TakesANamespaceThatIsNotConfigured) {
  const PolicyTable policies({}, std::nullopt);
  const Caller caller = Caller::Anyone();
  admin_v1::EvictRequest evict;
  evict.set_namespace_("gone");
  evict.set_key("key");
  evict.set_fence(1);
  EXPECT_TRUE(std::holds_alternative<Request>(AdminValidator(policies, caller).Check(evict)));
}

}  // namespace
}  // namespace onced
