"""The other side of the controller's ports: where records are kept, and the clusters that effects act upon."""
