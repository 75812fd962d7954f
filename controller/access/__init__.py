"""ACLs and SCRAM credentials: the index, the rules of authorization, and the events that change them."""
