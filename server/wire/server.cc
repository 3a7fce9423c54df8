#include "server/wire/server.h"

#include <unistd.h>

#include <thread>
#include <utility>

namespace corank::wire {

Server::Server(int loops, const ConnectionLimits& limits, Router router,
               std::function<void(const Peer&)> on_failed_handshake)
    : limits_(limits), router_(std::move(router)), on_failed_handshake_(std::move(on_failed_handshake)) {
  for (int i = 0; i < loops; ++i) shards_.push_back(std::make_unique<Shard>());
}

Server::~Server() { Stop(std::chrono::milliseconds(0)); }

void Server::Serve(int fd, std::string peer, std::shared_ptr<const TlsContext> tls) {
  if (shards_.empty()) {
    close(fd);
    return;
  }
  Shard* shard = nullptr;
  int64_t number = 0;
  {
    absl::MutexLock lock(&mutex_);
    number = next_++;
    shard = shards_[static_cast<size_t>(number) % shards_.size()].get();
    entries_[number].shard = shard;
  }
  ++open_connections_;
  shard->loop->Post([this, shard, fd, number, peer = std::move(peer), tls = std::move(tls)]() mutable {
    {
      absl::MutexLock lock(&mutex_);
      if (entries_.count(number) == 0) {  // it was the oldest
        close(fd);
        --open_connections_;
        return;
      }
    }
    Connection::Environment environment;
    environment.loop = shard->loop;
    environment.limits = &limits_;
    environment.router = &router_;
    environment.tls = std::move(tls);
    environment.on_failed_handshake = &on_failed_handshake_;
    environment.open_calls = &open_calls_;
    environment.unread_answers = &unread_answers_;
    environment.on_end = [this, shard, number](Connection* ended) {
      shard->connections.erase(ended);
      Forget(number);
      --open_connections_;
    };
    auto connection = std::make_shared<Connection>(std::move(environment), fd, std::move(peer));
    shard->connections.emplace(connection.get(), connection);
    {
      absl::MutexLock lock(&mutex_);
      const auto entry = entries_.find(number);
      if (entry != entries_.end()) entry->second.connection = connection;
    }
    connection->Start();
  });
}

void Server::Forget(int64_t number) {
  absl::MutexLock lock(&mutex_);
  entries_.erase(number);
}

int Server::connections() const {
  absl::MutexLock lock(&mutex_);
  return static_cast<int>(entries_.size());
}

void Server::CloseOldest() {
  Entry oldest;
  {
    absl::MutexLock lock(&mutex_);
    if (entries_.empty()) return;
    oldest = std::move(entries_.begin()->second);
    entries_.erase(entries_.begin());
  }
  oldest.shard->loop->Post([connection = std::move(oldest.connection)] {
    if (const std::shared_ptr<Connection> kept = connection.lock()) kept->Close();
  });
}

void Server::ForEach(const std::function<void(Connection&)>& task) {
  for (const std::unique_ptr<Shard>& shard : shards_) {
    shard->loop->Post([shard = shard.get(), task] {
      const auto connections = shard->connections;  // the task may remove them
      for (const auto& [pointer, connection] : connections) task(*connection);
    });
  }
}

void Server::Drain() {
  ForEach([](Connection& connection) { connection.Drain(); });
}

bool Server::AwaitNone(std::chrono::milliseconds most) const {
  const auto end = std::chrono::steady_clock::now() + most;
  while (open_connections_ > 0 && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return open_connections_ == 0;
}

void Server::Stop(std::chrono::milliseconds patience, const CallStatus& status, std::chrono::milliseconds farewell) {
  if (shards_.empty()) return;
  if (patience.count() > 0) {
    Drain();
    AwaitNone(patience);
  }
  if (farewell.count() > 0 && open_connections_ > 0) {
    ForEach([status](Connection& connection) { connection.EndCalls(status); });
    AwaitNone(farewell);
  }
  ForEach([status](Connection& connection) { connection.Close(status); });
  while (open_connections_ > 0 || open_calls_ > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  for (const std::unique_ptr<Shard>& shard : shards_) shard->loop->Stop();
  shards_.clear();
}

}  // namespace corank::wire
