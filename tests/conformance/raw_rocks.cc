#include "tests/conformance/raw_rocks.h"

#include <functional>
#include <memory>

#include "rocksdb/db.h"
#include "server/base/check.h"

namespace onced {
namespace {

using Use = std::function<rocksdb::Status(rocksdb::DB&, rocksdb::ColumnFamilyHandle*)>;

// Calls `use` with the column family named.
void WithFamily(const std::string& directory, const std::vector<std::string>& families,
                const std::string& name, const Use& use) {
  rocksdb::DBOptions options;
  options.create_if_missing = options.create_missing_column_families = true;
  std::vector<rocksdb::ColumnFamilyDescriptor> descriptors;
  for (const std::string& family : families) {
    descriptors.emplace_back(family, rocksdb::ColumnFamilyOptions());
  }
  rocksdb::DB* opened = nullptr;
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  ONCED_CHECK(rocksdb::DB::Open(options, directory, descriptors, &handles, &opened).ok());
  const std::unique_ptr<rocksdb::DB> db(opened);
  bool used = false;
  for (rocksdb::ColumnFamilyHandle* handle : handles) {
    if (handle->GetName() == name) {
      used = true;
      ONCED_CHECK(use(*db, handle).ok());
    }
    ONCED_CHECK(db->DestroyColumnFamilyHandle(handle).ok());
  }
  ONCED_CHECK(used);
}

std::vector<std::string> AllFamilies(const std::string& directory) {
  std::vector<std::string> names;
  ONCED_CHECK(rocksdb::DB::ListColumnFamilies({}, directory, &names).ok());
  return names;
}

}  // namespace

void RawMake(const std::string& directory, const std::vector<std::string>& families) {
  std::vector<std::string> all = families;
  all.push_back(rocksdb::kDefaultColumnFamilyName);
  WithFamily(directory, all, rocksdb::kDefaultColumnFamilyName,
             [](auto&, auto*) { return rocksdb::Status::OK(); });
}

void RawPut(const std::string& directory, const std::string& family, const std::string& key,
            const std::string& value) {
  WithFamily(directory, AllFamilies(directory), family,
             [&](rocksdb::DB& db, rocksdb::ColumnFamilyHandle* handle) {
               return db.Put({}, handle, key, value);
             });
}

std::string RawGet(const std::string& directory, const std::string& family,
                   const std::string& key) {
  std::string value;
  WithFamily(directory, AllFamilies(directory), family,
             [&](rocksdb::DB& db, rocksdb::ColumnFamilyHandle* handle) {
               return db.Get({}, handle, key, &value);
             });
  return value;
}

void RawDelete(const std::string& directory, const std::string& family, const std::string& key) {
  WithFamily(directory, AllFamilies(directory), family,
             [&](rocksdb::DB& db, rocksdb::ColumnFamilyHandle* handle) {
               return db.Delete({}, handle, key);
             });
}

}  // namespace onced
