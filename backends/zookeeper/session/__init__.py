"""The ZooKeeper session: client, login and the tree of znodes as a port."""
