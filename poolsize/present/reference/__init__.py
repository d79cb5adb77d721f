"""The generated pages of docs/reference: each is made from the declarations that it documents."""
