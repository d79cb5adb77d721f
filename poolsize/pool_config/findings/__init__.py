"""The findings on pools: each record with its sentence, which names the source of advice.

A finding that only one family of libraries can have stands in its module; of several families, in `of_pools`.
"""
