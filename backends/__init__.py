"""The other side of the controller's ports.

Where records are kept, and the clusters that effects act upon.
"""
