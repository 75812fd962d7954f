"""How a step is carried out where reassignd is the controller, and the throttle of all modes."""
