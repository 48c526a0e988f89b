// A RocksDB seen without RocksStore: what a store left behind, or what somebody
// else did to it.
#pragma once

#include <string>
#include <vector>

namespace onced {

// Makes an empty database, or opens the one that is there, with these column
// families beside the default one; those missing are made.
void RawMake(const std::string& directory, const std::vector<std::string>& families);
// Opens the database with all the column families that it has.
void RawPut(const std::string& directory, const std::string& family, const std::string& key,
            const std::string& value);
// Of a key that is there.
std::string RawGet(const std::string& directory, const std::string& family, const std::string& key);
void RawDelete(const std::string& directory, const std::string& family, const std::string& key);

}  // namespace onced
