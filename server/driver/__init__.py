"""The driver, the one owner of the controller's state, its event queue and its journal."""
