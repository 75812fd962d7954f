"""The throttle lease: the throttle that the steps in flight need, and which configs of it are reassignd's."""
