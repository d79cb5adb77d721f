"""Small services, as users write them, whose pools the tests measure."""
