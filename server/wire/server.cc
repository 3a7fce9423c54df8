#include "server/wire/server.h"

#include <unistd.h>

#include <thread>
#include <utility>

namespace corank::wire {

Server::Server(int loops, const ConnectionLimits& limits, Router router) : limits_(limits), router_(std::move(router)) {
  for (int i = 0; i < loops; ++i) shards_.push_back(std::make_unique<Shard>());
}

Server::~Server() { Stop(std::chrono::milliseconds(0)); }

void Server::Serve(int fd, std::string peer, std::shared_ptr<const TlsContext> tls) {
  if (shards_.empty()) {
    close(fd);
    return;
  }
  Shard* const shard = shards_[next_++ % shards_.size()].get();
  ++connections_;
  shard->loop.Post([this, shard, fd, peer = std::move(peer), tls = std::move(tls)]() mutable {
    Connection::Environment environment;
    environment.loop = &shard->loop;
    environment.limits = &limits_;
    environment.router = &router_;
    environment.tls = std::move(tls);
    environment.on_end = [this, shard](Connection* ended) {
      shard->connections.erase(ended);
      --connections_;
    };
    auto connection = std::make_shared<Connection>(std::move(environment), fd, std::move(peer));
    shard->connections.emplace(connection.get(), connection);
    connection->Start();
  });
}

void Server::Drain() {
  for (const std::unique_ptr<Shard>& shard : shards_) {
    shard->loop.Post([shard = shard.get()] {
      for (const auto& [pointer, connection] : shard->connections) connection->Drain();
    });
  }
}

void Server::Stop(std::chrono::milliseconds patience) {
  if (shards_.empty()) return;
  if (patience.count() > 0) Drain();
  const auto end = std::chrono::steady_clock::now() + patience;
  while (connections_ > 0 && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  for (const std::unique_ptr<Shard>& shard : shards_) {
    shard->loop.Post([shard = shard.get()] {
      const auto connections = shard->connections;  // Close removes them
      for (const auto& [pointer, connection] : connections) connection->Close();
    });
  }
  while (connections_ > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  shards_.clear();
}

}  // namespace corank::wire
