"""Models of the API made from the state of the controller, and plans read from requests."""
