"""A web page that computes the formula and the traffic model without poolsize and without a network."""
